// The page: it follows its address, and the controls change the address.

let filter = unfiltered();
let selected = { rows: [] };
let opened = null;
const dialog = $("case");

function draw() {
  selected = select(filter);
  drawMatrix(selected.operators, filter);
  drawResults(selected.rows, filter);
  for (const label of $("outcome").querySelectorAll("label")) {
    label.querySelector("small").textContent = (selected.outcomes[label.dataset.outcome] ?? 0).toLocaleString("en");
  }
}

// Show in the controls what the filter says.
function reflect() {
  $("q").value = filter.q;
  for (const key of CHOICES) $(key).value = filter[key];
  for (const box of $("outcome").querySelectorAll("input")) box.checked = filter.outcome.includes(box.value);
}

function follow() {
  const asked = readAddress();
  if (asked.case !== undefined) {
    open(asked.case, asked.backend);
    return;
  }
  const before = opened;
  if (dialog.open) dialog.close();
  opened = null;
  filter = asked.filter;
  reflect();
  draw();
  if (before) document.querySelector(`a.case[href="${CSS.escape(linkToCase(before))}"]`)?.focus();
}

function go(link) {
  if (link === location.hash || (link === "#" && !location.hash)) return;
  history.pushState(null, "", link);
  follow();
}

const close = () => go(linkOf(filter));

async function open(id, backend) {
  const found = ROWS.filter((row) => textOf(row, "case") === id);
  const row = found.find((other) => textOf(other, "backend") === backend) ?? found[0] ?? null;
  opened = row;
  const place = selected.rows.indexOf(opened);
  const step = (n, label) => {
    const other = place < 0 ? undefined : selected.rows[place + n];
    return button(label, () => go(linkToCase(other)), { disabled: other ? undefined : "" });
  };
  const title = el("h2", { id: "case-title", tabindex: -1 }, opened ? breakable(titleOf(opened)) : "There is no such case");
  dialog.replaceChildren(
    el("header", {},
      el("div", {}, title, opened
        ? el("p", {}, badge(outcomeOf(opened)), " on ", el("b", {}, textOf(opened, "backend"))) : el("p", {}, id)),
      el("div", { class: "buttons" }, step(-1, "Previous"), step(1, "Next"), button("Close", close, { class: "close" }))),
    el("div", { class: "content" }));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  title.focus();
  if (!row) return;
  const packed = DATA.details[row[FIELD.case]];
  const detail = packed ? await unpacked(packed) : { came: {} };
  if (opened === row) fill(dialog.querySelector(".content"), {}, caseParts(row, detail));
}

function choices(id, values) {
  $(id).append(...values.map((value) => el("option", { value }, value)));
}

function controls() {
  const distinct = (values) => [...new Set(values)];
  choices("op", distinct(ROWS.map((row) => textOf(row, "operator"))).sort());
  choices("opset", distinct(ROWS.map((row) => row[FIELD.opset])).sort((a, b) => a - b));
  choices("type", distinct(ROWS.flatMap(typesOf)).sort());
  choices("backend", BACKENDS);
  choices("standing", distinct(ROWS.map((row) => row[FIELD.standing])).sort().map((n) => DATA.standings[n]));
  const present = new Set(ROWS.map(outcomeOf));
  $("outcome").append(...DATA.outcomes.filter((outcome) => present.has(outcome)).map((outcome) =>
    el("label", { "data-outcome": outcome }, el("input", { type: "checkbox", value: outcome }),
      badge(outcome), " ", el("small", {}))));
  const changed = () => {
    const next = { ...unfiltered(), q: $("q").value };
    for (const key of CHOICES) next[key] = $(key).value;
    next.outcome = [...$("outcome").querySelectorAll("input:checked")].map((box) => box.value);
    return next;
  };
  $("filters").addEventListener("change", (event) => event.target !== $("q") && go(linkOf(changed())));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    go("#");
  });
  $("q").addEventListener("input", () => {
    filter = changed();
    history.replaceState(null, "", linkOf(filter));
    draw();
  });
  const turn = (n) => {
    go(linkOf({ ...filter, page: filter.page + n }));
    $("results").scrollIntoView();
  };
  $("previous").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
}

// "/" goes to the search; the arrow keys go through the cases.
function keys(event) {
  const typing = event.target.matches("input, select, textarea");
  if (dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !typing) {
    event.preventDefault();
    $("q").focus();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...document.querySelectorAll("a.case")];
  const at = links.indexOf(document.activeElement);
  if (!step || (at < 0 && (event.target !== $("q") || step < 0))) return;
  event.preventDefault();
  (links[at + step] ?? (step < 0 ? $("q") : links[at]))?.focus();
}

function theme() {
  let kept = "";
  try {
    kept = localStorage.getItem("opcheck-theme") ?? "";
  } catch { /* a page without storage follows the system */ }
  const apply = (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  $("theme").value = kept;
  apply(kept);
  $("theme").addEventListener("change", () => {
    apply($("theme").value);
    try {
      localStorage.setItem("opcheck-theme", $("theme").value);
    } catch { /* not kept */ }
  });
}

theme();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  ($("results") ?? document.querySelector("main")).focus();
});
if (ROWS.length) {
  document.body.classList.toggle("one-backend", BACKENDS.length === 1);
  document.body.classList.toggle("few-backends", BACKENDS.length <= 2);
  controls();
  if (readAddress().case !== undefined) draw();
  document.addEventListener("keydown", keys);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  addEventListener("hashchange", follow);
  follow();
}
performance.mark("opcheck-ready");
