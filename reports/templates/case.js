// One case on one backend: what it is, what came, where they differ, how to run it again.

const quoted = (text) => (/^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function commandOf(row) {
  const options = DATA.options.map(([name, value]) => ` --${name} ${quoted(value)}`).join("");
  return `opcheck run ${quoted(textOf(row, "case"))} --backend ${quoted(textOf(row, "backend"))}${options}`;
}

// Write elements as NumPy does; an element that differs is marked.
function nested(excerpt, differs) {
  const { shape, values, total } = excerpt;
  if (!shape) return values.join("\n");
  const width = Math.max(0, ...values.map((value) => value.length));
  const element = (i) => {
    const padded = (shape.length ? values[i].padStart(width) : values[i]);
    return differs(i) ? [padded.slice(0, padded.length - values[i].length), el("mark", {}, values[i])] : padded;
  };
  if (!shape.length) return values.length ? element(0) : "";
  if (!total) return "[]";
  const size = shape.at(-1);
  const parts = [];
  const brackets = (row) => {
    let n = 1;
    for (let k = shape.length - 2, step = 1; k >= 0; k--, n++) {
      step *= shape[k];
      if (row % step) break;
    }
    return n;
  };
  for (let i = 0; i < values.length; i++) {
    if (i % size === 0) {
      const n = brackets(i / size);
      parts.push(" ".repeat(shape.length - n) + "[".repeat(n));
    }
    parts.push(element(i));
    if ((i + 1) % size) parts.push(i + 1 < values.length ? ", " : ", …");
    else {
      const last = i + 1 === total;
      parts.push("]".repeat(last ? shape.length : brackets((i + 1) / size)), last ? "" : ",\n");
    }
  }
  if (values.length < total) parts.push(`\n… ${counted(total - values.length, "more element")}`);
  return parts;
}

const typed = ({ type, shape }) => (shape ? `${type}[${shape.join(", ")}]` : type);

function valueBlock(excerpt, differs = () => false) {
  const shown = excerpt.shape || excerpt.values.length
    ? el("pre", { tabindex: 0 }, nested(excerpt, differs)) : null;
  return el("div", { class: "value" },
    el("h4", {}, el("code", {}, excerpt.name), " ", el("small", {}, typed(excerpt))), shown);
}

// Tell which elements of an output differ; known where each cell of the picture is one element.
function differing(came, name) {
  const found = came.differences?.find((d) => d.output === name && d.reason === "values" && d.heat);
  const marks = found ? found.heat.tiles.flat().join("") : "";
  return (i) => found && marks.length === found.total && /[1-9in]/.test(marks[i]);
}

function answers(came, detail) {
  const got = came.outputs ?? [];
  const shown = (detail.expected ?? []).map((alternative, k) => el("div", {},
    k ? el("p", { class: "or" }, "or") : null,
    alternative.length ? alternative.map((e) => valueBlock(e, differing(came, e.name)))
      : el("p", {}, "An error: the model must be rejected.")));
  const none = got.length ? null : el("p", { class: "aside" }, "No outputs.");
  return el("div", { class: "pair" },
    shown.length ? el("div", {}, el("h3", {}, "Expected"), shown) : null,
    el("div", {}, el("h3", {}, "Got"), got.map((e) => valueBlock(e, differing(came, e.name))), none));
}

function elementTable(difference) {
  const { rows, worst } = difference;
  if (!rows.length) return null;
  const same = (row) => String(row.index) === String(worst?.index);
  const all = worst && !rows.some(same) ? [...rows, worst] : rows;
  const columns = ["expected", "got", "absolute", "relative", "ulp"].filter((k) => all.some((r) => r[k]));
  const names = { absolute: "absolute error", relative: "relative error", ulp: "ULP" };
  const hidden = difference.different - all.length;
  return el("div", { class: "scroll" }, el("table", { class: "elements" },
    el("caption", {}, difference.different === 1 ? "The element that differs" : "The first elements that differ, and the worst",
      hidden > 0 ? `; ${hidden.toLocaleString("en")} more differ` : ""),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "number" }, "index"),
      columns.map((k) => el("th", { scope: "col", class: "number" }, names[k] ?? k)))),
    el("tbody", {}, all.map((row) => el("tr", { class: same(row) && "worst" },
      el("th", { scope: "row", class: "number" }, `[${row.index.join(", ")}]`, same(row) && all.length > 1 ? " worst" : ""),
      columns.map((k) => el("td", { class: "number" }, row[k])))))));
}

function differenceBlock(difference) {
  const { output, reason, expected, got } = difference;
  const said = reason === "values"
    ? [el("b", {}, `${difference.different.toLocaleString("en")} of ${counted(difference.total, "element")}`),
      ` of ${expected} differ; allowed: ${difference.allowed}`]
    : ["got ", el("b", {}, got), ", expected ", el("b", {}, expected)];
  return el("div", { class: "difference" },
    el("p", {}, output ? [el("code", {}, output), ": "] : null, said),
    difference.heat ? drawHeat(difference) : null, elementTable(difference));
}

function copyButton(text) {
  const made = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text);
      made.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(made.previousElementSibling);
      made.textContent = "Selected";
    }
  });
  return made;
}

function modelButton(row, detail) {
  if (!detail.model) return null;
  return button("Download the model", () => {
    const bytes = Uint8Array.from(atob(detail.model), (c) => c.charCodeAt(0));
    const link = el("a", {
      href: URL.createObjectURL(new Blob([bytes])),
      download: titleOf(row).replace(/[^\w.-]+/g, "_") + ".onnx",
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }, { class: "model" });
}

// A time with three digits.
const timeOf = (s) => (s < 1 ? `${Number((s * 1000).toPrecision(3))} ms` : `${Number(s.toPrecision(3))} s`);

const block = (title, ...content) => el("section", {}, el("h3", {}, title), content);

function factsOf(row) {
  const facts = {
    Operator: `${textOf(row, "operator")}-${row[FIELD.since]}, opset ${row[FIELD.opset]}`,
    Types: textOf(row, "types"),
    File: placeOf(row),
    Time: row[FIELD.seconds] ? timeOf(row[FIELD.seconds]) : "",
    Phase: { load: "loading the model", run: "running it" }[row[FIELD.more].phase],
    Expectations: row[FIELD.more].verdict,
    Flaky: row[FIELD.more].flaky && `repetitions gave ${row[FIELD.more].flaky.join(" and ")}`,
  };
  return el("dl", { class: "facts" }, Object.entries(facts).filter(([, value]) => value)
    .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function othersOf(row) {
  const others = ROWS.filter((other) => other[FIELD.case] === row[FIELD.case])
    .sort((a, b) => BACKENDS.indexOf(textOf(a, "backend")) - BACKENDS.indexOf(textOf(b, "backend")));
  if (others.length < 2) return null;
  return el("nav", { "aria-label": "This case on the backends", class: "others" },
    el("ul", {}, others.map((other) => el("li", {}, el("a", {
      href: linkToCase(other), "aria-current": other === row ? "true" : undefined,
    }, textOf(other, "backend"), " ", badge(outcomeOf(other)))))));
}

function caseParts(row, detail) {
  const more = row[FIELD.more];
  const came = detail.came[textOf(row, "backend")] ?? {};
  const why = textOf(row, "why");
  const command = commandOf(row);
  const told = (title, text) => block(title, el("pre", { class: "message", tabindex: 0 }, text));
  return [
    othersOf(row),
    why && el("p", { class: "why" }, why),
    factsOf(row),
    more.message && told("What it said", more.message),
    came.differences && block("Difference", came.differences.map(differenceBlock)),
    came.printed && told("What it printed", came.printed),
    block("Run it again", el("div", { class: "command" }, el("code", { tabindex: 0 }, command), copyButton(command)),
      modelButton(row, detail)),
    detail.node && block("Case", el("pre", { class: "node", tabindex: 0 }, detail.node)),
    detail.graph && block("Graph", drawGraph(detail.graph)),
    detail.inputs && block("Inputs", detail.inputs.map((e) => valueBlock(e))),
    detail.node || came.outputs ? answers(came, detail)
      : el("p", { class: "aside" }, "Inputs and outputs are kept of cases that did not pass; ",
        el("code", {}, `opcheck show ${quoted(textOf(row, "case"))}`), " prints this one."),
  ];
}
