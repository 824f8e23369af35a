// Puts a store in memory in front of KV, because miniflare's imitation of KV costs
// several times what any of the Workers do. The Worker under test is imported
// under a name that build/bench.mjs fills in.

import worker from "worker";

const decoder = new TextDecoder();
const values = new Map();
let environment;

function inMemory(fleet) {
  return {
    async get(key, { type }) {
      if (!values.has(key)) values.set(key, await fleet.get(key, "arrayBuffer"));
      const value = values.get(key);
      if (value === null) return null;
      return type === "json" ? JSON.parse(decoder.decode(value)) : value.slice();
    },
  };
}

export default {
  async fetch(request, env, context) {
    environment ??= { ...env, FLEET: inMemory(env.FLEET) };
    const times = Number(request.headers.get("bench-times") ?? 0);
    if (times > 0) return Response.json(await repeat(request, times, context));
    return worker.fetch(request, environment, context);
  },
};

// The same request so many times, without what HTTP costs and the pipe that
// records are written to. Whoever asks takes the time: the clock stands still in here.
async function repeat(request, times, context) {
  const { log } = console;
  let records = 0;
  console.log = () => { records++; };
  try {
    for (let i = 0; i < times; i++) {
      const { status } = await worker.fetch(request, environment, context);
      if (status !== 200) throw new Error(`status ${status}`);
    }
  } finally {
    console.log = log;
  }
  return { records };
}
