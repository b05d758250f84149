// Posting a kernel and following its judging, with plain words when the network or the server fails.
//
// The form's idempotency key names one press of a button. The answer to a press carries the next key;
// until one arrives the old key stays, so that pressing again after a lost answer submits nothing twice.

const RETRY = "Your code is kept in this browser: press the button again.";

function explain(status) {
  if (status === 403) {
    return "The server refused this (403). Your session may have ended: reload the page and log in again; your draft stays.";
  }
  if (status === 413) return "The file is too large for the server (413). Make it shorter and press the button again.";
  if (status >= 500) return `The server failed (${status}); nothing was judged. ${RETRY}`;
  return `The server answered ${status} and judged nothing. ${RETRY}`;
}

function showProblem(pane, text) {
  const box = document.createElement("div");
  box.className = "notice notice-bad";
  box.setAttribute("role", "alert");
  const strong = document.createElement("strong");
  strong.textContent = "Not sent. ";
  box.append(strong, text);
  pane.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
}

// While a fragment refreshes itself: tell when the server cannot be reached, and when it can again.
function watchConnection() {
  const line = document.querySelector("[data-connection]");
  if (!line) return;
  const isRefresh = (event) => event.detail.requestConfig?.verb === "get";
  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.body.addEventListener(name, (event) => {
      if (!isRefresh(event)) return;
      line.textContent = "The server cannot be reached. Judging goes on there; this page keeps asking.";
      line.hidden = false;
    });
  }
  document.body.addEventListener("htmx:afterOnLoad", (event) => {
    if (!isRefresh(event) || line.hidden) return;
    line.textContent = "";
    line.hidden = true;
  });
}

// One persistent live region: fragments come and go and would be read out again and again.
function watchAnnouncements() {
  const region = document.querySelector("[data-live]");
  if (!region) return;
  const tell = () => {
    const text = document.querySelector("[data-announce]")?.dataset.announce ?? "";
    if (text && region.textContent !== text) region.textContent = text;
  };
  document.body.addEventListener("htmx:afterSettle", tell);
}

function watchForm(form) {
  const pane = document.querySelector(form.getAttribute("hx-target"));
  const mine = (event) => event.detail.elt === form;
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (!mine(event)) return;
    form.setAttribute("aria-busy", "true");
    document.dispatchEvent(new CustomEvent("backpass:sent"));
  });
  form.addEventListener("htmx:afterRequest", (event) => mine(event) && form.removeAttribute("aria-busy"));
  pane.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.requestConfig?.elt !== form) return;
    pane.scrollTop = 0;
    pane.scrollIntoView({ block: "nearest" });
  });
  const unreachable = `The server could not be reached. ${RETRY}`;
  form.addEventListener("htmx:sendError", (event) => mine(event) && showProblem(pane, unreachable));
  form.addEventListener("htmx:timeout", (event) => mine(event) && showProblem(pane, unreachable));
  form.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    if (mine(event) && xhr.status !== 422 && xhr.status !== 429) showProblem(pane, explain(xhr.status));
  });
}

export function watchSubmitForm() {
  watchConnection();
  watchAnnouncements();
  const form = document.querySelector("form[data-work]");
  if (form) watchForm(form);
}
