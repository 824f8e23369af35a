// The Worker beside others, in workerd on this machine:
//
//   node build/bench.mjs [--json] [--fleet testdata/bench/fleet.jsonl] [--workers constant,handwritten,stagger]
//     [--rounds 7] [--seconds 0.6] [--connections 8]
//
// All Workers run in one workerd with one KV namespace, answer for the same phones
// with the same bytes (but the constant one), and take turns in every round, so
// that whatever else the machine does falls on all of them alike. Three measurements:
//
//   loop     the handler alone, many times in the isolate: no HTTP, no KV, no log
//   memory   over HTTP, with a store in memory in place of KV
//   kv       over HTTP, with miniflare's imitation of KV, which costs more than any of them
//
// Over HTTP the load comes from this process, on the same cores. Prints a table,
// unless --json, and then one line of JSON:
//
//   {"machine": "2 x ...", "node": "v20.20.2", "workerd": "1.20260426.1",
//    "rounds": 7, "seconds": 0.6, "connections": 8, "bytes": 6443,   of a file, on average
//    "measurements": [
//      {"name": "loop", "unit": "us",              microseconds of one request: less is better
//       "median": {"constant": 3.1, "handwritten": 60.2, "stagger": 90.5},
//       "best":   {"constant": 3.0, ...},          of all rounds
//       "ratio":  {"constant": 29.2, "handwritten": 1.5}},
//      {"name": "memory", "unit": "requests/s", ...},                     more is better
//      {"name": "kv", "unit": "requests/s", ...}]}
//
// A ratio is the last Worker's number divided by that of the Worker it is named
// for: the median of what each round gives, as both then had the same machine.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { documents } from "./fleet.mjs";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, ROOT, startWorkers, WORKER } from "./miniflare.mjs";
import { target } from "./token.mjs";

const MODULES = {
  constant: ["build/bench/constant.mjs"],
  handwritten: ["build/bench/handwritten.mjs"],
  stagger: WORKER,
};
const UNITS = { loop: "us", memory: "requests/s", kv: "requests/s" };

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    fleet: { type: "string", default: `${ROOT}/testdata/bench/fleet.jsonl` },
    workers: { type: "string", default: "constant,handwritten,stagger" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "0.6" },
    connections: { type: "string", default: "8" },
  },
});

try {
  await main();
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
}

async function main() {
  const names = options.workers.split(",");
  const unknown = names.find((name) => !(name in MODULES));
  if (unknown !== undefined) throw new Error(`--workers: no Worker ${unknown}`);
  const rounds = Number(options.rounds), seconds = Number(options.seconds);
  const masterKey = randomBytes(32).toString("hex");
  let errors = 0;
  const worker = (name, store, modules) => ({
    name: `${name}-${store}`,
    modules,
    core: name === "stagger" ? readFileSync(CORE) : undefined,
    bindings: { STAGGER_MASTER_KEY: masterKey },
  });
  const workers = await startWorkers(names.flatMap((name) => [
    worker(name, "kv", MODULES[name]), worker(name, "memory", inMemory(MODULES[name])),
  ]), (line, stream) => {
    if (stream === "stderr" && errors++ < 10) console.error(`bench: workerd: ${line}`);
  });
  try {
    const fleet = await workers.fleet();
    const requests = [];
    for await (const { key, value } of documents(options.fleet)) {
      await fleet.put(key, value);
      const document = JSON.parse(value);
      if (document.device) requests.push((headers = []) => request(target(masterKey, document), document.device, headers));
    }
    if (requests.length === 0) throw new Error(`${options.fleet}: holds no device`);
    const port = (name, store) => workers.ports[`${name}-${store}`];
    const bytes = await compare(names.flatMap((name) => ["kv", "memory"].map((store) => ({ name, port: port(name, store) }))), requests);

    const measure = {
      loop: (name) => loop(port(name, "memory"), requests, seconds),
      memory: (name) => load(port(name, "memory"), requests, seconds),
      kv: (name) => load(port(name, "kv"), requests, seconds),
    };
    const samples = Object.fromEntries(Object.keys(measure).map((kind) => [kind, Object.fromEntries(names.map((name) => [name, []]))]));
    for (const kind of Object.keys(measure)) for (const name of names) await measure[kind](name); // warm
    for (let round = 0; round < rounds; round++) {
      for (const kind of Object.keys(measure)) {
        for (const name of names) samples[kind][name].push(await measure[kind](name));
      }
    }
    report(names, samples, bytes);
  } finally {
    await workers.stop();
  }
}

function request(target, mac, headers) {
  return requestBytes("GET", `https://phones.example${target}`,
    [["host", "phones.example"], ["user-agent", `Yealink SIP-T46U 108.86.0.90 ${mac}`], ...headers]);
}

// With memory the entry is another: it imports the Worker and stands before its store.
function inMemory(modules) {
  const entry = { path: "build/bench/memory.mjs" };
  entry.contents = readFileSync(`${ROOT}/${entry.path}`, "utf8").replace('from "worker"', `from "../../${modules[0]}"`);
  return [entry, ...modules];
}

/** A Worker that answers something else is not worth measuring: all but the constant one must agree. Returns how long a file is. */
async function compare(workers, requests) {
  let bytes = 0;
  for (const [i, request] of requests.entries()) {
    const answers = new Map();
    for (const { name, port } of workers) {
      const connection = new Connection(port);
      const { status, body } = await connection.exchange(request()).finally(() => connection.close());
      if (status !== 200) throw new Error(`${name}: phone ${i + 1}: status ${status}`);
      if (name === "constant") continue;
      answers.set(body.toString("latin1"), name);
      bytes += body.length;
    }
    if (answers.size > 1) throw new Error(`phone ${i + 1}: ${[...answers.values()].join(" and ")} answer differently`);
  }
  return Math.round(bytes / requests.length / (workers.filter(({ name }) => name !== "constant").length || 1));
}

/** Has the handler called again and again for so many seconds. Returns the microseconds of one call, the best of several turns. */
async function loop(port, requests, seconds) {
  const times = 500, connection = new Connection(port);
  let best = Infinity, i = 0;
  try {
    const end = performance.now() + seconds * 1000;
    for (let now = performance.now(); now < end; ) {
      const { status, body } = await connection.exchange(requests[i++ % requests.length]([["bench-times", times]]));
      if (status !== 200) throw new Error(`status ${status} in a loop: ${body}`);
      const then = now;
      now = performance.now();
      best = Math.min(best, (now - then) * 1000 / times);
    }
  } finally {
    connection.close();
  }
  return best;
}

/** Sends requests for so many seconds, one after the other on each of a few connections. Returns how many a second. */
async function load(port, requests, seconds) {
  const all = requests.map((request) => request());
  const start = performance.now(), end = start + seconds * 1000;
  let answered = 0;
  await Promise.all(Array.from({ length: Number(options.connections) }, async (_, n) => {
    const connection = new Connection(port);
    try {
      for (let i = n; performance.now() < end; i++, answered++) {
        const { status } = await connection.exchange(all[i % all.length]);
        if (status !== 200) throw new Error(`status ${status} under load`);
      }
    } finally {
      connection.close();
    }
  }));
  return answered / ((performance.now() - start) / 1000);
}

function report(names, samples, bytes) {
  const median = (list) => list.toSorted((a, b) => a - b)[(list.length - 1) >> 1];
  const digits = (value) => Number(value.toPrecision(4));
  const each = (names, f) => Object.fromEntries(names.map((name) => [name, digits(f(name))]));
  const ours = names.at(-1);
  const measurements = Object.entries(samples).map(([name, of]) => ({
    name,
    unit: UNITS[name],
    median: each(names, (worker) => median(of[worker])),
    best: each(names, (worker) => (UNITS[name] === "us" ? Math.min : Math.max)(...of[worker])),
    ratio: each(names.slice(0, -1), (worker) => median(of[ours].map((value, round) => value / of[worker][round]))),
  }));
  if (!options.json) {
    for (const { name, unit, median, best, ratio } of measurements) {
      console.log(`${name} (${unit})`);
      for (const worker of names) {
        const ratioText = worker in ratio ? `${ours} / ${worker} ${ratio[worker]}` : "";
        console.log(`  ${worker.padEnd(12)} median ${String(median[worker]).padStart(7)}  best ${String(best[worker]).padStart(7)}  ${ratioText}`.trimEnd());
      }
    }
  }
  const { version } = JSON.parse(readFileSync(`${ROOT}/build/node_modules/workerd/package.json`, "utf8"));
  console.log(JSON.stringify({
    machine: `${cpus().length} x ${cpus()[0].model}`, node: process.version, workerd: version,
    rounds: Number(options.rounds), seconds: Number(options.seconds), connections: Number(options.connections), bytes,
    measurements,
  }));
}
