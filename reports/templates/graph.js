// A small layered drawing of a graph, from top to bottom; bodies are drawn inside their node.

const GRAPH = { pad: 12, across: 22, down: 36, line: 16, char: 7.3, small: 6.4, longest: 20 };
// Names that tools make differ at their ends.
const shortened = (text) =>
  text.length > GRAPH.longest ? "…" + text.slice(1 - GRAPH.longest) : text;

// Return the names that a graph takes from outside.
function freeNames(graph) {
  const own = new Set([...graph.inputs, ...graph.constants].map(([name]) => name));
  for (const node of graph.nodes) for (const name of node.out) own.add(name);
  const used = graph.nodes.flatMap((node) => [...node.in, ...freeOfBodies(node)]);
  used.push(...graph.outputs.map(([name]) => name));
  return [...new Set(used)].filter((name) => name && !own.has(name));
}
const freeOfBodies = (node) => node.bodies.flatMap(([, body]) => freeNames(body));

function pill(kind, name, type, ins, outs) {
  const label = shortened(name || "(no name)");
  const below = shortened(type);
  const width = Math.max(label.length * GRAPH.char, below.length * GRAPH.small) + 20;
  return { kind, label, below, full: `${name} ${type}`.trim(), ins, outs, width, height: type ? 36 : 24 };
}

function nodeItem(node) {
  const bodies = node.bodies.map(([name, body]) => ({ name, ...layOut(body) }));
  const ports = node.out.map(shortened);
  const portsWidth = ports.reduce((sum, port) => sum + port.length * GRAPH.small + 14, 0);
  const inside = bodies.reduce((sum, body) => sum + body.width + GRAPH.pad, GRAPH.pad);
  const width = Math.max(node.op.length * GRAPH.char + 28, portsWidth + 8, bodies.length ? inside : 0, 56);
  const deepest = Math.max(0, ...bodies.map((body) => body.height + GRAPH.line + GRAPH.pad));
  const captured = freeOfBodies(node).filter((name) => !node.in.includes(name));
  return {
    kind: "node", label: node.op, ports, bodies, width,
    full: [node.op, ...node.attributes].join("\n"),
    ins: [...node.in, ...new Set(captured)], outs: node.out, dashedFrom: node.in.length,
    height: 28 + deepest + (ports.some(Boolean) ? GRAPH.line + 4 : 0),
  };
}

// Put each item into a layer below the items whose values it takes.
function layers(items, producers) {
  for (const item of items) {
    const above = item.ins.map((name) => producers.get(name)?.layer).filter((n) => n !== undefined);
    if (item.kind !== "output") item.layer = above.length ? Math.max(...above) + 1 : 0;
  }
  const last = Math.max(0, ...items.map((item) => item.layer ?? 0)) + 1;
  for (const item of items) if (item.kind === "output") item.layer = last;
  for (const item of items) {
    const low = item.kind === "constant" || item.kind === "outer" ||
      (item.kind === "node" && item.ins.length === 0);
    if (!low) continue;
    const users = items.filter((other) => other.ins.some((name) => item.outs.includes(name)));
    if (users.length) item.layer = Math.max(0, Math.min(...users.map((user) => user.layer)) - 1);
  }
}

// Return the edges; one that passes layers gets a point in each of them.
function edgesOf(items, producers) {
  const edges = [];
  for (const item of items) {
    item.ins.forEach((name, port) => {
      const from = producers.get(name);
      if (!from) return;
      const points = [];
      for (let layer = from.layer + 1; layer < item.layer; layer++) {
        points.push({ kind: "point", layer, width: 6, height: 0, ins: [], outs: [] });
      }
      edges.push({ name, from, to: item, port, points, dashed: port >= (item.dashedFrom ?? Infinity) });
    });
  }
  return edges;
}

// Order the items of each layer by where their neighbours are, and give them places.
function placeAcross(rows, edges) {
  const neighbours = new Map(rows.flat().map((item) => [item, []]));
  for (const { from, to, points } of edges) {
    const chain = [from, ...points, to];
    for (let k = 1; k < chain.length; k++) {
      neighbours.get(chain[k]).push(chain[k - 1]);
      neighbours.get(chain[k - 1]).push(chain[k]);
    }
  }
  for (const row of rows) {
    let x = 0;
    for (const item of row) {
      item.x = x + item.width / 2;
      x += item.width + GRAPH.across;
    }
    for (const item of row) item.x -= x / 2;
  }
  const wanted = (item) => {
    const near = neighbours.get(item);
    return near.length ? near.reduce((sum, other) => sum + other.x, 0) / near.length : item.x;
  };
  for (let round = 0; round < 12; round++) {
    for (const row of round % 2 ? [...rows].reverse() : rows) {
      const want = new Map(row.map((item) => [item, wanted(item)]));
      if (round < 8) row.sort((a, b) => want.get(a) - want.get(b));
      let edge = -Infinity;
      let shift = 0;
      for (const item of row) {
        item.x = Math.max(want.get(item), edge + item.width / 2);
        shift += want.get(item) - item.x;
        edge = item.x + item.width / 2 + GRAPH.across;
      }
      for (const item of row) item.x += shift / row.length;
    }
  }
}

// Narrow the upright bands in which nothing stands.
function squeeze(items) {
  let right = -Infinity;
  let shift = 0;
  for (const item of items.toSorted((a, b) => a.x - a.width / 2 - (b.x - b.width / 2))) {
    const gap = item.x - item.width / 2 - right;
    if (gap > GRAPH.across && right > -Infinity) shift += gap - GRAPH.across;
    right = Math.max(right, item.x + item.width / 2);
    item.x -= shift;
  }
}

// Return a graph with a place for each item, and the size of the whole.
function layOut(graph) {
  const items = [
    ...graph.inputs.map(([name, type]) => pill("input", name, type, [], [name])),
    ...graph.constants.map(([name, type]) => pill("constant", name, type, [], [name])),
    ...freeNames(graph).map((name) => pill("outer", name, "from outside", [], [name])),
    ...graph.nodes.map(nodeItem),
    ...graph.outputs.map(([name, type]) => pill("output", name, type, [name], [])),
  ];
  const producers = new Map();
  for (const item of items) for (const name of item.outs) if (name) producers.set(name, item);
  layers(items, producers);
  const edges = edgesOf(items, producers);
  const rows = [];
  for (const item of [...items, ...edges.flatMap((edge) => edge.points)]) {
    (rows[item.layer] ??= []).push(item);
  }
  const present = rows.filter(Boolean);
  placeAcross(present, edges);
  squeeze(present.flat());
  const left = Math.min(0, ...present.flat().map((item) => item.x - item.width / 2)) - GRAPH.pad;
  const right = Math.max(0, ...present.flat().map((item) => item.x + item.width / 2)) + GRAPH.pad;
  let y = GRAPH.pad;
  for (const row of present) {
    const height = Math.max(...row.map((item) => item.height));
    for (const item of row) {
      item.x -= left;
      item.y = y;
      if (item.kind === "point") item.height = height;
    }
    y += height + GRAPH.down;
  }
  return { items, edges, width: Math.max(60, right - left), height: y - GRAPH.down + GRAPH.pad };
}

// Return where the values of an item leave it and enter it.
const spread = (item, k, n) => item.x - item.width / 2 + (item.width * (k + 1)) / (n + 1);
const leaving = (item, name) =>
  [spread(item, Math.max(0, item.outs.indexOf(name)), item.outs.length), item.y + item.height];
const entering = (item, port) => [spread(item, port, item.ins.length), item.y];

function drawEdge(edge) {
  const points = [leaving(edge.from, edge.name)];
  for (const point of edge.points) points.push([point.x, point.y], [point.x, point.y + point.height]);
  points.push(entering(edge.to, edge.port));
  let path = `M${points[0].map(Math.round).join(",")}`;
  for (let k = 1; k < points.length; k++) {
    const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
    const middle = (y0 + y1) / 2;
    path += x0 === x1 ? `L${Math.round(x1)},${Math.round(y1)}`
      : `C${[x0, middle, x1, middle, x1, y1].map(Math.round).join(",")}`;
  }
  return svg("path", { class: edge.dashed ? "edge dashed" : "edge", d: path }, svg("title", {}, edge.name));
}

function drawItem(item) {
  const left = item.x - item.width / 2;
  const box = svg("rect", {
    x: left, y: item.y, width: item.width, height: item.height, rx: item.kind === "node" ? 5 : 12,
  });
  const at = (x, y, text, more = {}) => svg("text", { x, y, ...more }, text);
  const parts = [svg("title", {}, item.full), box];
  if (item.kind !== "node") {
    parts.push(at(item.x, item.y + 16, item.label));
    if (item.below) parts.push(at(item.x, item.y + 30, item.below, { class: "type" }));
    return svg("g", { class: `item ${item.kind}` }, parts);
  }
  parts.push(at(item.x, item.y + 18, item.label));
  const inside = item.bodies.reduce((sum, body) => sum + body.width + GRAPH.pad, -GRAPH.pad);
  let x = item.x - inside / 2;
  for (const body of item.bodies) {
    const top = item.y + 28;
    parts.push(svg("rect", { class: "body", x, y: top, width: body.width, height: body.height + GRAPH.line, rx: 4 }),
      at(x + 8, top + 14, body.name, { class: "caption" }),
      svg("g", { transform: `translate(${x},${top + GRAPH.line})` }, drawLaidOut(body)));
    x += body.width + GRAPH.pad;
  }
  item.ports.forEach((port, k) => {
    parts.push(at(spread(item, k, item.ports.length), item.y + item.height - 6, port, { class: "type" }));
  });
  return svg("g", { class: "item node" }, parts);
}

const drawLaidOut = (laid) => [laid.edges.map(drawEdge), laid.items.map(drawItem)];

function drawGraph(graph) {
  if (graph.listed) {
    const more = graph.count - graph.listed.length;
    return [el("p", {}, `The model has ${graph.count} nodes, too many to draw:`),
      el("ol", { class: "nodes" }, graph.listed.map((node) => el("li", {}, el("code", {}, node)))),
      more > 0 && el("p", {}, `and ${more} more`)];
  }
  const laid = layOut(graph);
  const picture = svg("svg", {
    class: "graph", width: Math.ceil(laid.width), height: Math.ceil(laid.height), role: "img",
    "aria-label": `The graph: ${counted(graph.count, "node")}, as in the text above`,
  }, drawLaidOut(laid));
  return el("div", { class: "scroll graphbox", tabindex: 0, role: "region", "aria-label": "Graph" }, picture);
}
