// The results, and how the page makes elements: texts become text nodes, never markup.

const DATA = JSON.parse(document.getElementById("data").textContent);
const STRINGS = DATA.strings;
const ROWS = DATA.records;
const FIELD = Object.fromEntries(DATA.fields.map((name, i) => [name, i]));
const SVG = "http://www.w3.org/2000/svg";

// Return what is shown of an opened case, which is packed.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

const $ = (id) => document.getElementById(id);
const textOf = (row, field) => STRINGS[row[FIELD[field]]];
const outcomeOf = (row) => DATA.outcomes[row[FIELD.outcome]];
const titleOf = (row) => {
  const id = textOf(row, "case");
  const place = textOf(row, "file") + "::";
  return id.startsWith(place) ? id.slice(place.length) : id;
};
const placeOf = (row) => textOf(row, "file") + (row[FIELD.line] ? ":" + row[FIELD.line] : "");
// A name or a path that may break at its parts.
const breakable = (name) => name.split(/(?<=[_/])|(?=\[)/).flatMap((part) => [part, el("wbr")]).slice(0, -1);
const counted = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const outcomeClass = (outcome) => outcome.replaceAll(" ", "-");

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  const nothing = new Set([null, undefined, false, ""]);
  element.append(...children.flat(Infinity).filter((child) => !nothing.has(child)));
  return element;
}

const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const badge = (outcome) => el("span", { class: `outcome o-${outcomeClass(outcome)}` }, outcome);

function button(label, action, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", action);
  return made;
}
