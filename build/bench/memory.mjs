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
  fetch(request, env, context) {
    environment ??= { ...env, FLEET: inMemory(env.FLEET) };
    return worker.fetch(request, environment, context);
  },
};
