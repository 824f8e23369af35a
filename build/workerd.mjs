// The conformance corpus' engine "workerd": reads cases, one JSON line each, from
// stdin and writes what the Worker answered, one JSON line each, to stdout.
//
// A case:
//   {"now": 1700000000,                         seconds; 0 when left out
//    "documents": {"tenant:t1": "{...}"},       or {"base64": "..."} for a value that is not UTF-8
//    "failing": ["device:t1:..."],              keys that the store cannot tell about
//    "keys": ["<hex>", "<hex>"],                the master key and the one before
//    "plain_http": "t1,t2", "open": "", "hosts": "", "sealed": "",
//    "requests": [{"method": "GET", "target": "/...", "headers": [["user-agent", "..."]], "tls": true, "body": ""}]}
// Targets, header values and bodies are latin1: one character, one byte. Without a
// "host" header one is added. A target that begins with http is sent as it is.
//
// Its answer:
//   {"responses": [{"status": 200, "headers": [["content-type", "..."]], "body": "<base64>",
//                   "audit": "<the line that was logged>", "notices": ["<warnings and errors>"]}]}
// audit is null where the platform answered by itself. {"error": "..."} when a case could not be run.
//
// It ends when stdin does, or after five minutes without a case.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, startWorkers, WORKER } from "./miniflare.mjs";

const IDLE_MILLISECONDS = 5 * 60_000;
const HOST = "phones.example";
const DEFAULTS = { now: 0, documents: {}, failing: [], keys: [], plain_http: "", open: "", hosts: "", sealed: "", requests: [] };

const workers = await startWorkers([{
  name: "corpus",
  modules: ["build/workerd-entry.mjs", ...WORKER.slice(1)],
  core: readFileSync(process.argv[2] ?? CORE),
}], (line) => console.error(`workerd: ${line}`));
const port = workers.ports.corpus;

const lines = createInterface({ input: process.stdin });
const idle = setTimeout(() => lines.close(), IDLE_MILLISECONDS);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => lines.close());

let control = new Connection(port);
try {
  for await (const line of lines) {
    idle.refresh();
    if (line.trim() === "") continue;
    let answer;
    try {
      answer = await run(JSON.parse(line));
    } catch (error) {
      answer = { error: `workerd: ${error.message}` };
      control.close();
      control = new Connection(port);
    }
    if (!process.stdout.write(JSON.stringify(answer) + "\n")) await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
} finally {
  clearTimeout(idle);
  control.close();
  await workers.stop();
}

async function run(kase) {
  // Go writes an empty list as null.
  const { now, documents, failing, keys, plain_http, open, hosts, sealed, requests } =
    { ...DEFAULTS, ...Object.fromEntries(Object.entries(kase).filter(([, value]) => value !== null)) };
  const environment = { STAGGER_PLAIN_HTTP: plain_http, STAGGER_OPEN: open, STAGGER_HOSTS: hosts, STAGGER_SEALED: sealed };
  if (keys.length > 0) environment.STAGGER_MASTER_KEY = keys[0];
  if (keys.length > 1) environment.STAGGER_MASTER_KEY_PREVIOUS = keys[1];
  const base64 = Object.entries(documents).map(([key, value]) => [key, value.base64 ?? Buffer.from(value).toString("base64")]);
  await tell({ begin: { now, documents: Object.fromEntries(base64), failing, environment } });
  const responses = [];
  for (const request of requests) responses.push(await send(request));
  return { responses };
}

async function send({ method, target, headers, tls = true, body = "" }) {
  // The platform's inner protocol, which proxy-style sockets speak, has the whole
  // URL in the request line. So no certificate is needed for a request over TLS.
  const url = /^https?:/.test(target) ? target : `${tls ? "https" : "http"}://${HOST}${target}`;
  headers ??= [];
  const host = headers.some(([name]) => name.toLowerCase() === "host") ? [] : [["host", HOST]];
  // A connection each: what a hostile request does to it is no affair of the next.
  const connection = new Connection(port);
  try {
    const response = await connection.exchange(requestBytes(method, url, [...host, ...headers], body), { head: method === "HEAD" });
    const { logged } = await tell({});
    return {
      ...response,
      body: response.body.toString("base64"),
      audit: logged.find(({ level }) => level === "log")?.line ?? null,
      notices: logged.filter(({ level }) => level !== "log").map(({ line }) => line),
    };
  } finally {
    connection.close();
  }
}

async function tell(message) {
  const body = Buffer.from(JSON.stringify(message));
  const headers = [["host", "control.invalid"], ["content-length", body.length]];
  const response = await control.exchange(requestBytes("POST", "https://control.invalid/", headers, body.toString("latin1")));
  if (response.status !== 200) throw new Error(`control: status ${response.status}: ${response.body.toString("utf8", 0, 200)}`);
  return JSON.parse(response.body.toString());
}
