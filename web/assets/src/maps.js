// The access map: a program at a time, or all up to it, by slider, keys and, if asked to, by itself.
//
// Without scripts the form asks the server, which draws the same (web/inspection/access.py).

const box = document.querySelector("[data-map]");
const LONGEST_STEP = 500;
const SHORTEST_STEP = 60;
const WHOLE_PLAY = 8000; // milliseconds, however many programs there are
const MOST_NAMED = 12;

function start() {
  const map = JSON.parse(document.getElementById("map-data").textContent);
  const slider = box.querySelector("[data-program]");
  if (!slider) return pointing(map, () => map.programs - 1);
  const [rows, columns] = map.tiles;
  const form = slider.form;
  const said = box.querySelector("[data-now]");
  const drawing = box.querySelector("[data-drawing]");
  const play = box.querySelector("[data-play]");
  const [width] = map.grid;
  let timer = 0;

  const name = (n) => `(${n % width}, ${Math.floor(n / width) % map.grid[1]}, ${Math.floor(n / (width * map.grid[1]))})`;
  const program = () => Number(slider.value);
  const alone = () => form.elements.view.value === "only";

  function counts(last, only) {
    const found = new Uint32Array(rows * columns);
    const own = new Uint8Array(rows * columns);
    for (let i = 0; i < map.runs.length && map.runs[i] <= last; i += 3) {
      const isOwn = map.runs[i] === last;
      if (only && !isOwn) continue;
      for (let tile = map.runs[i + 1], end = tile + map.runs[i + 2]; tile < end; tile++) {
        found[tile]++;
        if (isOwn) own[tile] = 1;
      }
    }
    return { found, own };
  }

  const shadeOf = (count) => {
    if (!count) return 0;
    const shade = map.shades.findIndex((most) => count <= most);
    return (shade < 0 ? map.shades.length : shade) + 1;
  };

  function draw() {
    const last = program();
    const { found, own } = counts(last, alone());
    const tiles = new Array(map.shades.length + 2).fill(0);
    const shades = Array.from(found, (count) => {
      const shade = shadeOf(count);
      tiles[shade]++;
      return shade;
    });
    for (const path of box.querySelectorAll("path[data-shade]")) {
      path.setAttribute("d", outline((tile) => shades[tile] === Number(path.dataset.shade), rows, columns));
    }
    box.querySelector("[data-own]").setAttribute("d", outline((tile) => own[tile], rows, columns));
    for (const cell of box.querySelectorAll("[data-tiles]")) cell.textContent = tiles[cell.dataset.tiles];
    tell(last, found.length - tiles[0], found.reduce((most, count) => Math.max(most, count), 0));
  }

  function tell(last, touched, most) {
    const id = document.createElement("span");
    id.className = "mono";
    id.textContent = name(last);
    const words = alone() ? "touched by it" : "touched so far";
    said.replaceChildren("Program ", id, `, number ${last} of 0 to ${map.programs - 1}; ${touched} of ${rows * columns} tiles ${words}`);
    slider.setAttribute("aria-valuetext", `program ${name(last)}`);
    drawing.setAttribute("aria-label", `${rows} rows of ${columns} tiles; ${touched} touched, one by at most ${most} program${most === 1 ? "" : "s"}`);
  }

  function go(to) {
    slider.value = Math.min(Math.max(to, 0), map.programs - 1);
    draw();
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.setAttribute("aria-pressed", "false");
    play.textContent = "Play";
    said.setAttribute("aria-live", "polite");
  }

  function begin() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if (program() === map.programs - 1) go(0);
    play.setAttribute("aria-pressed", "true");
    play.textContent = "Pause";
    said.setAttribute("aria-live", "off"); // a word for each step would never end
    const step = Math.min(Math.max(WHOLE_PLAY / map.programs, SHORTEST_STEP), LONGEST_STEP);
    timer = setInterval(() => {
      go(program() + 1);
      if (program() === map.programs - 1) stop();
    }, step);
  }

  const toggle = () => (timer ? stop() : begin());
  const byHand = (to) => {
    stop();
    go(to);
  };

  slider.addEventListener("input", () => byHand(program()));
  form.addEventListener("change", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  play.addEventListener("click", toggle);
  for (const button of box.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => byHand(program() + Number(button.dataset.step)));
  }
  box.querySelector("[data-keys]").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step) byHand(program() + step);
    else if (event.key === "Home") byHand(0);
    else if (event.key === "End") byHand(map.programs - 1);
    else if (event.key === " ") toggle();
    else return;
    event.preventDefault();
  });
  slider.setAttribute("aria-valuetext", `program ${name(program())}`);
  pointing(map, program, alone, name);
}

// Rectangles over the tiles that are wanted: runs in a row, those alike in the rows below added to the first.
function outline(wanted, rows, columns) {
  const drawn = new Map(); // by left, right and the row below
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const left = column;
      while (column < columns && wanted(row * columns + column)) column++;
      if (column === left) continue;
      const above = `${left} ${column} ${row}`;
      const top = drawn.get(above)?.top ?? row;
      drawn.delete(above);
      drawn.set(`${left} ${column} ${row + 1}`, { top, left, right: column, end: row + 1 });
    }
  }
  const found = [...drawn.values()].sort((a, b) => a.top - b.top || a.left - b.left);
  return found.map((r) => `M${r.left} ${r.top}h${r.right - r.left}v${r.end - r.top}h${r.left - r.right}z`).join("");
}

// What is under the pointer: which elements, and which programs touch them.
function pointing(map, program, alone = () => false, name = () => "(0, 0, 0)") {
  const drawing = box.querySelector("[data-drawing]");
  const under = box.querySelector("[data-tile]");
  const usual = under.textContent;
  const [rows, columns] = map.tiles;
  const range = (tile, size, end) => {
    const first = tile * size;
    const last = Math.min(first + size, end) - 1;
    return first === last ? `${first}` : `${first} to ${last}`;
  };
  drawing.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect();
    const column = Math.floor(((event.clientX - frame.left) / frame.width) * columns);
    const row = Math.floor(((event.clientY - frame.top) / frame.height) * rows);
    if (column < 0 || column >= columns || row < 0 || row >= rows) return;
    const tile = row * columns + column;
    const by = [];
    for (let i = 0; i < map.runs.length && map.runs[i] <= program(); i += 3) {
      const [at, first, count] = map.runs.slice(i, i + 3);
      if (alone() && at !== program()) continue;
      if (first <= tile && tile < first + count && by.at(-1) !== at) by.push(at);
    }
    const named = by.slice(-MOST_NAMED).map(name).join(" ");
    const who = by.length ? `${by.length} program${by.length === 1 ? "" : "s"}: ${by.length > MOST_NAMED ? "… " : ""}${named}` : "no program";
    under.textContent = `Rows ${range(row, map.tile[0], map.matrix[0])}, columns ${range(column, map.tile[1], map.matrix[1])}: ${who}`;
  });
  drawing.addEventListener("pointerleave", () => {
    under.textContent = usual;
  });
}

if (box) start();
