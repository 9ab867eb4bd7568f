// The matrix of operators and backends, and the table of results.

const PAGE = 100;
const BACKENDS = DATA.backends.map((place) => STRINGS[place]);
let order = { by: "share", down: false };

// 100 % only where all passed, 0 % only where none did.
function percent({ passed, counted }) {
  if (passed === counted) return "100 %";
  if (passed === 0) return "0 %";
  return `${Math.min(99, Math.max(1, Math.floor((100 * passed) / counted)))} %`;
}

const shareOf = ({ passed, counted }) => (counted ? passed / counted : 2);
const lowest = (cells) => Math.min(2, ...Object.values(cells).map(shareOf));

function sorted(operators) {
  const byName = ([a], [b]) => (a < b ? -1 : 1);
  const entries = [...operators].sort(byName);
  const key = { share: (cells) => lowest(cells) }[order.by] ??
    ((cells) => (cells[order.by] ? shareOf(cells[order.by]) : 3));
  if (order.by !== "name") entries.sort(([, a], [, b]) => key(a) - key(b));
  return order.down ? entries.reverse() : entries;
}

function sortable(label, by, redraw) {
  const chosen = order.by === by || (order.by === "share" && BACKENDS.length === 1 && by === label);
  const head = el("th", {
    scope: "col",
    class: by === "name" ? "" : "number",
    "aria-sort": chosen ? (order.down ? "descending" : "ascending") : "none",
  });
  head.append(button(label, () => {
    order = { by, down: chosen && !order.down };
    redraw();
  }));
  return head;
}

function shareCell(operator, backend, cell, filter) {
  if (!cell || !cell.counted) return el("td", { class: "number none" }, cell ? "skipped" : "–");
  const part = (100 * cell.passed) / cell.counted;
  const bar = svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "bar-all", width: 100, height: 4 }),
    svg("rect", { class: "bar-passed", width: part, height: 4 }));
  const link = linkOf({ ...filter, op: operator, backend, page: 1 });
  return el("td", { class: part === 100 ? "number full" : "number" },
    el("a", { href: link }, el("b", {}, percent(cell)), " ",
      el("small", {}, `${cell.passed}/${cell.counted}`), bar));
}

function drawMatrix(operators, filter) {
  const table = document.querySelector(".matrix");
  const redraw = () => drawMatrix(operators, filter);
  const shown = BACKENDS.filter((b) => !filter.backend || b === filter.backend);
  table.tHead.replaceChildren(el("tr", {}, sortable("Operator", "name", redraw),
    shown.map((backend) => sortable(backend, backend, redraw))));
  table.tBodies[0].replaceChildren(...sorted(operators).map(([operator, cells]) => {
    const link = linkOf({ ...filter, op: operator, page: 1 });
    return el("tr", {}, el("th", { scope: "row" }, el("a", { href: link }, operator)),
      shown.map((backend) => shareCell(operator, backend, cells[backend], filter)));
  }));
}

function resultRow(row) {
  const types = typesOf(row).join(", ");
  const unexpected = row[FIELD.standing] === 1 && outcomeOf(row) === "passed";
  const standing = unexpected ? "unexpected" : row[FIELD.standing] === 2 ? "expected" : "";
  const flaky = row[FIELD.more].flaky ? "flaky" : "";
  const said = textOf(row, "said");
  return el("tr", {},
    el("td", {}, badge(outcomeOf(row)), el("small", { class: "many" }, textOf(row, "backend")),
      [standing, flaky].filter(Boolean).map((note) => el("small", { class: "note" }, note))),
    el("th", { scope: "row" },
      el("a", { class: "case", href: linkToCase(row) }, breakable(titleOf(row))),
      el("small", { class: "file" }, breakable(placeOf(row))),
      said && el("small", { class: "narrow" }, said)),
    el("td", { class: "wide" }, `${textOf(row, "operator")}-${row[FIELD.since]}`,
      el("small", { title: types }, `opset ${row[FIELD.opset]}${types ? ", " + types : ""}`)),
    el("td", { class: "wide said" }, el("span", { title: said }, said)));
}

function drawResults(rows, filter) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const page = Math.min(filter.page, pages);
  const first = (page - 1) * PAGE;
  const shown = rows.slice(first, first + PAGE);
  document.querySelector(".results").tBodies[0].replaceChildren(...shown.map(resultRow));
  $("count").textContent = rows.length === ROWS.length
    ? counted(rows.length, "result")
    : `${rows.length.toLocaleString("en")} of ${counted(ROWS.length, "result")}`;
  $("pages").hidden = pages === 1;
  $("pages").querySelector("span").textContent =
    `${(first + 1).toLocaleString("en")}–${(first + shown.length).toLocaleString("en")}`;
  $("previous").disabled = page === 1;
  $("next").disabled = page === pages;
}
