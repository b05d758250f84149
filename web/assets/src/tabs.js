// Sections shown one at a time. Without scripts they simply follow each other under their headings.
//
// <div data-tabs><div role="tablist"><a href="#id">…</a></div> <section id="id">…</section></div>

function select(tabList, panels, tab, focus) {
  for (const other of tabList) {
    const on = other === tab;
    other.setAttribute("aria-selected", String(on));
    other.tabIndex = on ? 0 : -1;
    panels.get(other).hidden = !on;
  }
  if (focus) tab.focus();
}

function prepare(box) {
  const list = box.querySelector("[data-tab-list]");
  const tabList = [...list.querySelectorAll('a[href^="#"]')];
  const panels = new Map(tabList.map((t) => [t, document.getElementById(t.hash.slice(1))]));
  list.setAttribute("role", "tablist");
  for (const [tab, panel] of panels) {
    tab.setAttribute("role", "tab");
    tab.id ||= `tab-${panel.id}`;
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", tab.hash);
      select(tabList, panels, tab, false);
    });
  }
  list.addEventListener("keydown", (event) => {
    const at = tabList.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    select(tabList, panels, tabList[(at + step + tabList.length) % tabList.length], true);
  });
  const fromAddress = () => tabList.find((t) => t.hash === location.hash);
  addEventListener("hashchange", () => fromAddress() && select(tabList, panels, fromAddress(), false));
  select(tabList, panels, fromAddress() ?? tabList[0], false);
}

export function tabs() {
  document.querySelectorAll("[data-tabs]").forEach(prepare);
}
