// Posting a kernel and following its judging: one submission for each press, and plain words when the
// network or the server fails.
//
// The server treats the idempotency key as the name of a press: the same key twice is one submission.
// A key therefore lives until an answer to it has arrived; only a press with other content gets another
// one before that.

const RETRY = "Your code is kept in this browser: press the button again.";

function newKey() {
  // crypto.randomUUID needs a secure context, and a site on a local network often has none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function keyring(form) {
  const field = form.querySelector("[data-idempotency-key]");
  let unanswered = null; // {key, content} of a press nobody has answered yet
  return {
    use(parameters) {
      const content = JSON.stringify(
        [...parameters.entries()].filter(([name]) => name !== field.name && name !== "csrfmiddlewaretoken"),
      );
      if (unanswered?.content !== content) unanswered = { key: newKey(), content };
      parameters.set(field.name, unanswered.key);
    },
    answered() {
      unanswered = null;
    },
  };
}

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
  const keys = keyring(form);
  const mine = (event) => event.detail.elt === form;
  form.addEventListener("htmx:configRequest", (event) => {
    if (mine(event)) keys.use(event.detail.parameters);
  });
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (!mine(event)) return;
    form.setAttribute("aria-busy", "true");
    document.dispatchEvent(new CustomEvent("backpass:sent"));
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (!mine(event)) return;
    form.removeAttribute("aria-busy");
    if (event.detail.xhr.status > 0) keys.answered();
  });
  const unreachable = `The server could not be reached. ${RETRY}`;
  form.addEventListener("htmx:sendError", (event) => mine(event) && showProblem(pane, unreachable));
  form.addEventListener("htmx:timeout", (event) => mine(event) && showProblem(pane, unreachable));
  form.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    const readable = xhr.getResponseHeader("HX-Fragment") || [400, 409, 413, 422, 429].includes(xhr.status);
    if (mine(event) && !(readable && xhr.responseText)) showProblem(pane, explain(xhr.status));
  });
}

export function watchSubmitForm() {
  watchConnection();
  watchAnnouncements();
  const form = document.querySelector("form[data-work]");
  if (form) watchForm(form);
}
