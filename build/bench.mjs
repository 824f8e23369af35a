// Requests a second of the Worker beside others, in workerd on this machine:
//
//   node build/bench.mjs [--fleet testdata/bench/fleet.jsonl] [--workers constant,handwritten,stagger]
//     [--store memory|kv] [--rounds 7] [--seconds 2] [--connections 8]
//
// All Workers run in one workerd with one KV namespace, answer for the same phones
// with the same bytes (but the constant one), and take turns in every round, so
// that whatever else the machine does falls on all of them alike. What is compared
// is the ratio; the load comes from this process, on the same cores. Prints JSON:
// the medians of the rounds, and what each is of the first Worker's.

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

const { values: options } = parseArgs({
  options: {
    fleet: { type: "string", default: `${ROOT}/testdata/bench/fleet.jsonl` },
    workers: { type: "string", default: "constant,handwritten,stagger" },
    store: { type: "string", default: "memory" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
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
  if (unknown) throw new Error(`--workers: no Worker ${unknown}`);
  const masterKey = randomBytes(32).toString("hex");
  let errors = 0;
  const workers = await startWorkers(names.map((name) => ({
    name,
    modules: options.store === "kv" ? MODULES[name] : inMemory(MODULES[name]),
    core: name === "stagger" ? readFileSync(CORE) : undefined,
    bindings: { STAGGER_MASTER_KEY: masterKey },
  })), (line, stream) => {
    if (stream === "stderr" && errors++ < 10) console.error(`bench: workerd: ${line}`);
  });
  try {
    const fleet = await workers.fleet();
    const requests = [];
    for await (const { key, value } of documents(options.fleet)) {
      await fleet.put(key, value);
      const document = JSON.parse(value);
      if (!document.device) continue;
      requests.push(requestBytes("GET", `https://phones.example${target(masterKey, document)}`,
        [["host", "phones.example"], ["user-agent", `Yealink SIP-T46U 108.86.0.90 ${document.device}`]]));
    }
    await compare(names, workers.ports, requests);
    const results = Object.fromEntries(names.map((name) => [name, { rates: [], latencies: [] }]));
    for (const name of names) await load(workers.ports[name], requests, 1); // warm
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const name of names) {
        const { rate, latencies } = await load(workers.ports[name], requests, Number(options.seconds));
        results[name].rates.push(rate);
        results[name].latencies.push(...latencies);
      }
    }
    report(names, results);
  } finally {
    await workers.stop();
  }
}

// With memory the entry is another: it imports the Worker and stands before its store.
function inMemory(modules) {
  const entry = { path: "build/bench/memory.mjs" };
  entry.contents = readFileSync(`${ROOT}/${entry.path}`, "utf8").replace('from "worker"', `from "../../${modules[0]}"`);
  return [entry, ...modules];
}

/** A Worker that answers something else is not worth measuring: all but the constant one must agree. */
async function compare(names, ports, requests) {
  for (const [i, request] of requests.entries()) {
    const answers = new Map();
    for (const name of names) {
      const connection = new Connection(ports[name]);
      const { status, body } = await connection.exchange(request).finally(() => connection.close());
      if (status !== 200) throw new Error(`${name}: phone ${i + 1}: status ${status}`);
      if (name !== "constant") answers.set(body.toString("latin1"), name);
    }
    if (answers.size > 1) throw new Error(`phone ${i + 1}: ${[...answers.values()].join(" and ")} answer differently`);
  }
}

/** Sends requests for so many seconds, one after the other on each of a few connections. */
async function load(port, requests, seconds) {
  const start = performance.now(), end = start + seconds * 1000;
  const latencies = [];
  await Promise.all(Array.from({ length: Number(options.connections) }, async (_, n) => {
    const connection = new Connection(port);
    try {
      for (let i = n, now = performance.now(); now < end; i++) {
        const { status } = await connection.exchange(requests[i % requests.length]);
        if (status !== 200) throw new Error(`status ${status} under load`);
        const then = now;
        now = performance.now();
        latencies.push(now - then);
      }
    } finally {
      connection.close();
    }
  }));
  return { rate: latencies.length / ((performance.now() - start) / 1000), latencies };
}

function report(names, results) {
  const quantile = (list, q) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * q)];
  const base = quantile(results[names[0]].rates, 0.5);
  console.log(JSON.stringify({
    store: options.store,
    machine: `${cpus().length} x ${cpus()[0].model}`,
    node: process.version,
    rounds: Number(options.rounds),
    seconds: Number(options.seconds),
    connections: Number(options.connections),
    workers: names.map((name) => {
      const { rates, latencies } = results[name];
      const rate = quantile(rates, 0.5);
      return {
        name,
        requests_per_second: Math.round(rate),
        [`of_${names[0]}`]: Number((rate / base).toFixed(3)),
        milliseconds_p50: Number(quantile(latencies, 0.5).toFixed(3)),
        milliseconds_p99: Number(quantile(latencies, 0.99).toFixed(3)),
      };
    }),
  }, null, 2));
}
