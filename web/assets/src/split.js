// A movable border between two panes: drag it, or focus it and use the arrow keys. Its place is a
// share in per cent, kept in a custom property on the root and in local storage.
//
// <div role="separator" tabindex="0" data-split="columns|rows"> between the panes of its parent.

const LEAST = 20;
const MOST = 80;

function prepare(bar) {
  const axis = bar.dataset.split;
  const initial = Number(bar.getAttribute("aria-valuenow"));
  const root = document.documentElement;
  const read = () => parseFloat(root.style.getPropertyValue(`--split-${axis}`)) || initial;

  const set = (share) => {
    const value = Math.round(Math.min(MOST, Math.max(LEAST, share)) * 10) / 10;
    root.style.setProperty(`--split-${axis}`, `${value}%`);
    bar.setAttribute("aria-valuenow", String(Math.round(value)));
    try {
      localStorage.setItem(`backpass.split.${axis}`, String(value));
    } catch {
      // Storage is forbidden: the split lasts for this page.
    }
  };

  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    bar.classList.add("moving");
    const box = bar.parentElement.getBoundingClientRect();
    const move = (e) =>
      set(axis === "columns" ? ((e.clientX - box.left) / box.width) * 100 : ((e.clientY - box.top) / box.height) * 100);
    bar.addEventListener("pointermove", move);
    bar.addEventListener(
      "lostpointercapture",
      () => {
        bar.removeEventListener("pointermove", move);
        bar.classList.remove("moving");
      },
      { once: true },
    );
  });
  bar.addEventListener("dblclick", () => set(initial));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
    if (event.key === "Home") set(initial);
    else if (step) set(read() + step);
    else return;
    event.preventDefault();
  });
  bar.setAttribute("aria-valuemin", String(LEAST));
  bar.setAttribute("aria-valuemax", String(MOST));
  bar.setAttribute("aria-valuenow", String(Math.round(read())));
}

export function splitters() {
  document.querySelectorAll("[data-split]").forEach(prepare);
}
