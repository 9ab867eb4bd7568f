// Which results are shown, and the link that says so: #outcome=failed&op=Loop, #case=…&backend=….

const CHOICES = ["op", "opset", "type", "backend", "standing"];
const unfiltered = () => ({
  q: "", op: "", opset: "", type: "", backend: "", standing: "", outcome: [], page: 1,
});

// Encode what a link must not hold, and leave readable what it may.
const encoded = (text) =>
  encodeURIComponent(text).replace(/%(?:2F|3A|5B|5D|2C|3D)/g, decodeURIComponent);

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function linkOf(filter) {
  const parts = ["q", ...CHOICES].filter((k) => filter[k]).map((k) => `${k}=${encoded(filter[k])}`);
  parts.push(...filter.outcome.map((outcome) => `outcome=${encoded(outcome)}`));
  if (filter.page > 1) parts.push(`page=${filter.page}`);
  return "#" + parts.join("&");
}

const linkToCase = (row) =>
  `#case=${encoded(textOf(row, "case"))}&backend=${encoded(textOf(row, "backend"))}`;

// Return what the address asks for: a filter, or a case and its backend.
function readAddress() {
  const pairs = location.hash.slice(1).split("&").filter((part) => part.includes("="));
  const found = pairs.map((part) => {
    const at = part.indexOf("=");
    return [part.slice(0, at), decoded(part.slice(at + 1))];
  });
  const given = Object.fromEntries(found);
  if ("case" in given) return { case: given.case, backend: given.backend };
  const filter = unfiltered();
  for (const [key, value] of found) {
    if (key === "outcome") {
      if (DATA.outcomes.includes(value)) filter.outcome.push(value);
    } else if (key === "page") filter.page = Math.max(1, Number.parseInt(value, 10) || 1);
    else if (key === "q" || CHOICES.includes(key)) filter[key] = value;
  }
  return { filter };
}

const splitTypes = new Map();
function typesOf(row) {
  const place = row[FIELD.types];
  if (!splitTypes.has(place)) splitTypes.set(place, STRINGS[place].split(", ").filter(Boolean));
  return splitTypes.get(place);
}

const searched = [];
function searchedText(i) {
  if (searched[i] === undefined) {
    const row = ROWS[i];
    const parts = ["case", "backend", "operator", "types", "said", "why"].map((f) => textOf(row, f));
    parts.push(row[FIELD.more].message ?? "", row[FIELD.more].verdict ?? "");
    searched[i] = parts.join("\n").toLowerCase();
  }
  return searched[i];
}

// Return the results that a filter leaves, how many there are of each outcome before the outcome
// is filtered, and the same by operator and backend.
function select(filter) {
  const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  const outcomes = {};
  const operators = new Map();
  for (let i = 0; i < ROWS.length; i++) {
    const row = ROWS[i];
    const operator = textOf(row, "operator");
    const backend = textOf(row, "backend");
    if (filter.op && operator !== filter.op) continue;
    if (filter.opset && String(row[FIELD.opset]) !== filter.opset) continue;
    if (filter.type && !typesOf(row).includes(filter.type)) continue;
    if (filter.backend && backend !== filter.backend) continue;
    if (filter.standing && DATA.standings[row[FIELD.standing]] !== filter.standing) continue;
    if (words.length && !words.every((word) => searchedText(i).includes(word))) continue;
    const outcome = outcomeOf(row);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (!operators.has(operator)) operators.set(operator, {});
    const cell = (operators.get(operator)[backend] ??= { passed: 0, counted: 0 });
    cell.passed += outcome === "passed";
    cell.counted += outcome !== "skipped";
    if (!filter.outcome.length || filter.outcome.includes(outcome)) rows.push(row);
  }
  return { rows, outcomes, operators };
}
