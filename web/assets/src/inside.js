// The inside of a kernel: a line of the source and what it became light up together, by pointer and keys.
//
// Without scripts the numbers in the margins are links to the other side.

const box = document.querySelector("[data-inside]");

function start() {
  const sides = Object.fromEntries([...box.querySelectorAll("[data-rows]")].map((pane) => [pane.dataset.rows, pane]));
  if (!sides.source || !sides.stage) return;
  const rows = { source: [...sides.source.children], stage: [...sides.stage.children] };
  rows.stage = rows.stage.filter((row) => row.classList.contains("row"));
  const ofLine = new Map(); // line of the source -> {source: [row], stage: [rows]}
  for (const side of ["source", "stage"]) {
    for (const row of rows[side]) {
      const line = row.dataset.line;
      if (!line) continue;
      if (!ofLine.has(line)) ofLine.set(line, { source: [], stage: [] });
      ofLine.get(line)[side].push(row);
    }
  }
  const sideOf = (row) => row.parentElement.dataset.rows;
  const other = (side) => (side === "source" ? "stage" : "source");
  const counterparts = (row) => ofLine.get(row.dataset.line)?.[other(sideOf(row))] ?? [];

  // The first rows of runs: a line's code may be scattered, and a place is one run of it.
  function places(row) {
    const found = counterparts(row);
    return found.filter((r) => r.previousElementSibling?.dataset.line !== r.dataset.line);
  }

  function light(line, className) {
    for (const row of box.querySelectorAll(`.${className}`)) row.classList.remove(className);
    const found = ofLine.get(line);
    if (found) for (const row of [...found.source, ...found.stage]) row.classList.add(className);
  }

  function show(row) {
    const pane = row.parentElement;
    const top = row.offsetTop - pane.offsetTop;
    if (top >= pane.scrollTop && top + row.offsetHeight <= pane.scrollTop + pane.clientHeight) return;
    pane.scrollTop = Math.max(0, top - pane.clientHeight / 3);
  }

  const current = { source: null, stage: null }; // where the keys are, on each side
  function moveTo(row) {
    const side = sideOf(row);
    current[side]?.classList.remove("at");
    current[side] = row;
    if (sides[side] === document.activeElement) row.classList.add("at");
    show(row);
  }

  // Keeps a row's line lit, and brings its counterpart into view.
  function hold(row, number = 0) {
    light(row.dataset.line, "held");
    const found = places(row);
    if (found.length) moveTo(found[((number % found.length) + found.length) % found.length]);
  }

  function letGo() {
    light("", "held");
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  }

  let turn = 0; // which of a row's places n and p are at
  for (const [side, pane] of Object.entries(sides)) {
    pane.addEventListener("pointerover", (event) => light(event.target.closest(".row")?.dataset.line, "lit"));
    pane.addEventListener("pointerleave", () => light("", "lit"));
    pane.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row || String(getSelection())) return; // text is being selected
      if (event.target.closest("a")) event.preventDefault();
      turn = 0;
      moveTo(row);
      hold(row);
      history.replaceState(null, "", `#${row.id}`); // an address to pass on
    });
    pane.addEventListener("focus", () => current[side]?.classList.add("at"));
    pane.addEventListener("blur", () => current[side]?.classList.remove("at"));
    pane.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const list = rows[side];
      const at = current[side] ? list.indexOf(current[side]) : -1;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const places = { n: 1, p: -1 }[event.key];
      if (step) {
        const row = list[Math.min(Math.max(at + step, 0), list.length - 1)];
        turn = 0;
        moveTo(row);
        hold(row);
      } else if (places && at >= 0) {
        turn += places;
        hold(list[at], turn);
      } else return;
      event.preventDefault();
    });
  }

  function follow() {
    const row = document.getElementById(location.hash.slice(1));
    if (!row?.classList.contains("row")) return;
    moveTo(row);
    hold(row);
  }
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  else begin();

  // The kernel's own line, not the head of the file, and what the machine does, not its declarations.
  function begin() {
    const head = document.getElementById(`L${box.dataset.inside}`);
    const first = rows.stage.find((row) => row.dataset.line);
    for (const row of [head, first]) if (row) sides[sideOf(row)].scrollTop = row.offsetTop - row.parentElement.offsetTop - 24;
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") letGo();
    const typing = event.target.closest("input, select, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    box.querySelector("[data-find] input[type=search]").select();
  });
  search(rows.stage, moveTo);
}

function search(rows, moveTo) {
  const form = box.querySelector("[data-find]");
  const field = form.querySelector("input[type=search]");
  const found = box.querySelector("[data-found]");
  const texts = rows.map((row) => row.lastElementChild.textContent.toLowerCase());
  let hits = [];
  let at = -1;

  function tell() {
    if (!field.value) found.textContent = "";
    else if (!hits.length) found.textContent = "not found";
    else found.textContent = `${at + 1} of ${hits.length}`;
  }
  function look() {
    const wanted = field.value.toLowerCase();
    hits = [];
    rows.forEach((row, i) => {
      const isHit = wanted !== "" && texts[i].includes(wanted);
      row.classList.toggle("hit", isHit);
      if (isHit) hits.push(row);
    });
    mark(hits.length ? 0 : -1);
  }
  function mark(number) {
    box.querySelector(".found")?.classList.remove("found");
    at = number;
    if (at >= 0) {
      hits[at].classList.add("found");
      moveTo(hits[at]);
    }
    tell();
  }
  function next(step) {
    if (!hits.length) return;
    mark((at + step + hits.length) % hits.length);
  }
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    next(event.shiftKey ? -1 : 1);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  if (field.value) look();
}

if (box) start();
