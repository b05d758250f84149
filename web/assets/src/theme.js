// Runs in <head> before anything is painted: what the reader chose earlier (light or dark, where the
// split stands) must hold from the first frame.

const root = document.documentElement;
root.classList.add("js");

try {
  const theme = localStorage.getItem("backpass.theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  for (const axis of ["columns", "rows"]) {
    const share = Number(localStorage.getItem(`backpass.split.${axis}`));
    if (share >= 20 && share <= 80) root.style.setProperty(`--split-${axis}`, `${share}%`);
  }
} catch {
  // Storage is forbidden: the system's theme and the default split it is.
}
