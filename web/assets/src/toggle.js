// The theme switch. Choosing what the system prefers anyway forgets the choice, so that the page
// follows the system again.

const KEY = "backpass.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");

function choose(theme) {
  const system = dark.matches ? "dark" : "light";
  if (theme === system) delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === system) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage is forbidden: the choice lasts for this page.
  }
}

export function themeSwitch() {
  const button = document.querySelector("[data-theme-switch]");
  if (!button) return;
  const tell = () => {
    const next = current() === "dark" ? "light" : "dark";
    button.textContent = next === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Use the ${next} theme`);
  };
  button.addEventListener("click", () => {
    choose(current() === "dark" ? "light" : "dark");
    tell();
  });
  dark.addEventListener("change", tell);
  tell();
}
