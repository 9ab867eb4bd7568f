// A program for opcheck's command protocol: ONNX Runtime in Node.js.
//
//   node opcheck-node.js --runtime node     onnxruntime-node, the native library
//   node opcheck-node.js --runtime web      onnxruntime-web, the same compiled to WebAssembly
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Unsupported, decode, elementTypes, encode } from "./tensors.js";

const PROTOCOL = 1;

// Only messages may go to stdout.
console.log = console.info = console.debug = console.error;

// What ONNX Runtime says when it has no implementation, rather than a complaint about the model.
const MISSING = new RegExp(
  [
    "NOT_IMPLEMENTED",
    "ERROR_CODE: 9,",
    "Could not find an implementation for",
    "not a registered function/op",
    "No Op registered for",
    "not currently registered or supported",
    "Unsupported model IR version",
    "is under development and support for this is limited",
    "data type .* is not supported",
    "[Uu]nsupported (data )?type",
    "[Nn]on.?tensor",
  ].join("|"),
);

const { values: options } = parseArgs({ options: { runtime: { type: "string", default: "node" } } });
if (!["node", "web"].includes(options.runtime)) {
  console.error(`--runtime is node or web, not ${options.runtime}`);
  process.exit(2);
}
const packageName = `onnxruntime-${options.runtime}`;
const imported = await import(packageName);
const ort = imported.InferenceSession ? imported : imported.default;
if (options.runtime === "web") {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "fatal";
}

/** Return the version that package.json pins. */
function version() {
  const { dependencies } = createRequire(import.meta.url)("./package.json");
  return dependencies[packageName];
}

function start({ protocols }) {
  if (!protocols.includes(PROTOCOL)) {
    return { type: "error", phase: "start", message: `this program speaks protocol ${PROTOCOL}` };
  }
  return {
    type: "ready",
    protocol: PROTOCOL,
    name: packageName,
    version: version(),
    capabilities: { kinds: ["tensor"], element_types: elementTypes(options.runtime) },
  };
}

async function run({ id, folder, model, inputs, outputs }) {
  let phase = "load";
  let session;
  try {
    session = await ort.InferenceSession.create(await readFile(join(folder, model)), {
      executionProviders: [options.runtime === "web" ? "wasm" : "cpu"],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: 4,
    });
    phase = "run";
    const feeds = {};
    for (const { name, file } of inputs) {
      feeds[name] = decode(await readFile(join(folder, file)), ort);
    }
    const results = await session.run(feeds, outputs.map(({ name }) => name));
    for (const { name, file } of outputs) {
      await writeFile(join(folder, file), encode(results[name], name));
    }
    return { type: "result", id };
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error; // its memory is in no known state
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof Unsupported || MISSING.test(text)) {
      return { type: "unsupported", id, reason: text };
    }
    return { type: "error", id, phase, message: text };
  } finally {
    await session?.release();
  }
}

const handlers = { start, run };

// The loop ends with stdin.
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const message = JSON.parse(line);
  if (!Object.hasOwn(handlers, message.type)) continue; // a message of a later version
  const answer = await handlers[message.type](message);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
