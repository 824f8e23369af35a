// The Worker as the conformance corpus runs it (build/workerd.mjs): the shim and
// the core that are deployed, with the clock and the environment of the case.
// Only the binding to KV and what is logged pass through here.

import module from "./out/edge.wasm";
import { createWorker } from "../edge/worker/cloudflare.mjs";

// The runner talks to the entry, not to the Worker, at this address.
const CONTROL = "https://control.invalid/";

let now = 0;
let environment = {};
let stored = new Map();
const logged = [];

for (const level of ["log", "warn", "error"]) {
  console[level] = (line) => logged.push({ level, line });
}
const worker = createWorker(module, { now: () => now * 1000 });

export default {
  async fetch(request, env, context) {
    if (request.url === CONTROL) return Response.json(await control(await request.json(), env));
    return worker.fetch(request, environment, context);
  },
};

/** With a case: puts it in place. Always: hands over what was logged since the last time. */
async function control({ begin }, { FLEET }) {
  if (begin) {
    const documents = new Map(Object.entries(begin.documents));
    await Promise.all([...stored.keys()].filter((key) => !documents.has(key)).map((key) => FLEET.delete(key)));
    const changed = [...documents].filter(([key, value]) => stored.get(key) !== value);
    await Promise.all(changed.map(([key, value]) => FLEET.put(key, Uint8Array.from(atob(value), (c) => c.charCodeAt(0)))));
    stored = documents;
    now = begin.now;
    environment = { ...begin.environment, FLEET: begin.failing.length > 0 ? failing(FLEET, begin.failing) : FLEET };
  }
  return { logged: logged.splice(0) };
}

/** KV itself, except that it cannot tell about some keys. */
function failing(fleet, keys) {
  return {
    get: (key, options) => (keys.includes(key) ? Promise.reject(new Error("KV GET failed: 503 Service Unavailable")) : fleet.get(key, options)),
  };
}
