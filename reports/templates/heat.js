// Where a tensor differs, as a picture: a cell per mark of harness/heat.py.

const MARKS = {
  "*": ["undefined", "", "left undefined"],
  ".": ["equal", "", "equal"],
  "~": ["allowed", "≈", "different, but allowed"],
  "1": ["1", "1", "1 to 9"], "2": ["2", "2", "10 to 99"], "3": ["3", "3", "100 to 999"],
  "4": ["4", "4", "1,000 and more"], "5": ["5", "5", "10,000 and more"],
  "6": ["6", "6", "10^5 and more"], "7": ["7", "7", "10^6 and more"],
  "8": ["8", "8", "10^7 and more"], "9": ["9", "9", "10^8 and more"],
  "i": ["inf", "∞", "an infinity and a number"],
  "n": ["nan", "NaN", "NaN and a number"],
  "o": ["both", "", "in both shapes"],
  "e": ["missing", "−", "expected, did not come"],
  "g": ["extra", "+", "came, was not expected"],
  "d": ["dtype", "T", "of another type"],
  " ": ["outside", "", "in neither shape"],
};
const MARK_ORDER = "ni987654321~.*doeg ";

function heatLegend(heat, unit, exact) {
  const counts = {};
  for (const mark of heat.tiles.flat().join("")) counts[mark] = (counts[mark] ?? 0) + 1;
  const noun = exact ? "element" : "cell";
  return el("ul", { class: "legend" }, [...MARK_ORDER].filter((m) => counts[m]).map((mark) => {
    const [, , meaning] = MARKS[mark];
    const key = svg("svg", { width: 22, height: 22, "aria-hidden": "true" }, cellShape(0, 0, 22, mark));
    const said = /[1-9]/.test(mark) ? `${meaning} ${unit}` : meaning;
    return el("li", {}, key, `${said}: ${counted(counts[mark], noun)}`);
  }));
}

function cellShape(x, y, size, mark) {
  const [name, glyph] = MARKS[mark] ?? MARKS[" "];
  const parts = [svg("rect", { x, y, width: size, height: size, class: `heat h-${name}` })];
  if (size >= 16 && glyph) {
    const small = glyph.length > 1 ? " small" : "";
    parts.push(svg("text", { x: x + size / 2, y: y + size / 2, class: `glyph g-${name}${small}` }, glyph));
  } else if (name === "nan" || name === "inf") {
    parts.push(svg("path", { d: `M${x},${y}l${size},${size}m0,${-size}l${-size},${size}`, class: "cross" }));
  }
  return parts;
}

// Name the elements of a cell: [0, 3] or [0, 8..15].
function cellPlace(heat, leading, tile, row, column) {
  const index = [];
  for (let k = leading.length - 1, rest = tile; k >= 0; k--) {
    index.unshift(heat.tiles.length > 1 || leading[k] === 1 ? rest % leading[k] : "any");
    rest = Math.floor(rest / leading[k]);
  }
  const sizes = [...[1, 1], ...heat.shape].slice(-2);
  for (const [k, n] of [[0, row], [1, column]]) {
    const first = n * heat.cell[k];
    const last = Math.min(first + heat.cell[k], sizes[k]) - 1;
    index.push(first === last ? first : `${first}..${last}`);
  }
  return `[${index.slice(index.length - heat.shape.length).join(", ")}]`;
}

function heatTile(heat, leading, tile, unit, readout) {
  const rows = heat.tiles[tile];
  const across = rows[0]?.length ?? 0;
  const size = Math.max(6, Math.min(28, Math.floor((heat.tiles.length > 1 ? 260 : 560) / across)));
  const cursor = svg("rect", { width: size, height: size, class: "cursor", visibility: "hidden" });
  const cells = rows.map((row, r) => [...row].map((m, c) => cellShape(c * size, r * size, size, m)));
  const picture = svg("svg", {
    width: across * size, height: rows.length * size, tabindex: 0, role: "img", class: "heatmap",
    "aria-label": `Picture of ${rows.length} rows and ${across} columns; the arrow keys read it`,
  }, cells, cursor);
  let at = [0, 0];
  const read = (row, column) => {
    at = [Math.max(0, Math.min(row, rows.length - 1)), Math.max(0, Math.min(column, across - 1))];
    const mark = rows[at[0]][at[1]];
    const [, , meaning] = MARKS[mark] ?? MARKS[" "];
    cursor.setAttribute("x", at[1] * size);
    cursor.setAttribute("y", at[0] * size);
    cursor.setAttribute("visibility", "visible");
    const said = /[1-9]/.test(mark) ? `${meaning} ${unit}` : meaning;
    readout.textContent = `${cellPlace(heat, leading, tile, ...at)}: ${said}`;
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    read(Math.floor((event.clientY - box.top) / size), Math.floor((event.clientX - box.left) / size));
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    read(at[0] + step[0], at[1] + step[1]);
  });
  return picture;
}

function drawHeat(difference) {
  const heat = difference.heat;
  const leading = heat.shape.slice(0, -2);
  const unit = /^b?float/.test(difference.expected) || /^complex/.test(difference.expected)
    ? "ULP" : "apart";
  const exact = heat.cell[0] === 1 && heat.cell[1] === 1 &&
    (heat.tiles.length > 1 || leading.every((n) => n === 1));
  const readout = el("output", { class: "readout", "aria-live": "polite" },
    exact ? "A cell is an element." : "A cell shows the worst of its elements.");
  const tiles = heat.tiles.map((_, tile) => {
    const label = heat.tiles.length > 1
      ? cellPlace(heat, leading, tile, 0, 0).split(", ").slice(0, leading.length).join(", ") + ", …]" : "";
    return el("div", { class: "tile" }, label && el("small", {}, label),
      heatTile(heat, leading, tile, unit, readout));
  });
  return el("figure", { class: "heat" }, el("div", { class: "tiles" }, tiles), readout,
    el("figcaption", {}, heatLegend(heat, unit, exact)));
}
