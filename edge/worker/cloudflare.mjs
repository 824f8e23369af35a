// The Cloudflare shim: turns a Request into what the core takes, KV reads into
// documents (which it opens where they are sealed) and the core's answer into a Response, and logs the audit record.
// It decides nothing. It must never use the Cache API (a configuration holds
// credentials), read the body of a request, or log a URL or a header.

import { answer, Core, failure } from "./core.mjs";
import { Seal } from "./seal.mjs";
import { kept, telemetryOf } from "./telemetry.mjs";
import { FLAG_TLS } from "./wire.mjs";

// Bytes, not text: text would lose a byte order mark and mend broken UTF-8, both
// of which the core refuses. The cache's time is KV's own least value: a changed
// profile reaches phones within a minute or so. No time limit: a timer for each
// document costs more than the rest of the shim (40 us), and when KV hangs the
// phone gives up, which ends the request.
const READ = { type: "arrayBuffer", cacheTtl: 60 };
// Enough to tell a phone's make and firmware.
const USER_AGENT_BYTES = 256;

// Facts of a client certificate, and what the platform calls them.
const CERTIFICATE = [
  ["cert-presented", "certPresented"],
  ["cert-verified", "certVerified"],
  ["cert-revoked", "certRevoked"],
  ["cert-subject", "certSubjectDNRFC2253"],
  ["cert-issuer", "certIssuerDNRFC2253"],
];

const encoder = new TextEncoder();

/**
 * Makes a module worker. Its environment:
 *
 *   FLEET                        KV: tenant:<id> and device:<tenant>:<mac>
 *   STAGGER_MASTER_KEY           secret: 32 bytes or more as hexadecimal
 *   STAGGER_MASTER_KEY_PREVIOUS  secret, during a rotation: the one before
 *   STAGGER_PLAIN_HTTP           tenants that may ask without TLS, separated by commas
 *   STAGGER_OPEN                 tenants whose phones need no token: a lab's only
 *   STAGGER_HOSTS                host names under which phones are served; empty for any
 *   STAGGER_SEALED               "required" refuses documents that are not sealed
 *
 * and what telemetry.mjs reads.
 *
 * @param {WebAssembly.Module} module
 * @param {{now: () => number}} clock milliseconds since 1970-01-01 UTC
 */
export function createWorker(module, { now }) {
  const core = new Core(module);
  // The environment is known from the first request on, and then stays the same.
  let settings, telemetry;

  return {
    async fetch(request, env, context) {
      const start = now(), documents = new Map();
      let result;
      try {
        if (settings?.env !== env) {
          settings = readSettings(env);
          telemetry = telemetryOf(env, settings.keys[0], { now });
        }
        const { flags, target } = splitURL(request.url);
        const read = reader(env, settings.seal);
        result = await answer(core, {
          flags,
          now: Math.floor(now() / 1000),
          method: request.method,
          target,
          facts: facts(request, settings),
          keys: settings.keys,
        }, telemetry ? kept(documents, read) : read);
      } catch (error) {
        result = failure(error);
      }
      telemetry?.record(request, result, documents, start, context);
      return reply(result);
    },
  };
}

// Reads documents. One that does not open is a failure of the store; the log says
// why, for the record does not.
function reader(env, seal) {
  return async (key) => {
    const value = await env.FLEET.get(key, READ);
    if (value === null) return null;
    try {
      return await seal.open(key, value);
    } catch (error) {
      console.error(`stagger: ${key} ${error.message}`);
      throw error;
    }
  };
}

// The target stays as the platform hands it over. A parser of URLs would fold
// dots and turn backslashes round; the core refuses such a path instead.
function splitURL(url) {
  const [, scheme, target] = /^([a-z]+):\/\/[^/?#]*(.*)$/s.exec(url);
  return { flags: scheme === "https" ? FLAG_TLS : 0, target: target || "/" };
}

function facts({ headers, cf }, { facts: own, hosts }) {
  const authorization = headers.get("authorization"), agent = headers.get("user-agent");
  const facts = [...own];
  if (authorization !== null) facts.push(["authorization", authorization]);
  if (agent !== null) facts.push(["user-agent", cut(agent)]);
  if (hosts !== "") facts.push(["hosts", hosts], ["host", headers.get("host") ?? ""]);
  // Only what the platform itself says, and as it says it: "1" or "0", "SUCCESS" or
  // a reason. Placeholders and what is missing are no facts; the core takes them for
  // a no.
  const certificate = cf?.tlsClientAuth;
  if (certificate?.certPresented === "1") {
    for (const [fact, field] of CERTIFICATE) {
      if (typeof certificate[field] === "string") facts.push([fact, certificate[field]]);
    }
  }
  return facts;
}

// A character is at most three bytes (a pair of surrogates is four).
const cut = (agent) => (agent.length * 3 <= USER_AGENT_BYTES ? agent : encoder.encode(agent).subarray(0, USER_AGENT_BYTES));

function reply({ status, headers, body, audit, error }) {
  console.log(JSON.stringify(audit));
  // The message is this project's own or the engine's: neither holds a secret.
  if (error) console.error(`stagger: ${error.message}`);
  // An empty body must be null, or the platform adds a content type of its own.
  // HEAD has none, and its content-length is sent as given.
  return new Response(body.length === 0 ? null : body, { status, headers: made(headers) });
}

// Workerd takes 8 us to make five headers and 5 to copy them, and most answers
// differ from the last one in their content-length alone, which every one has.
let last = {}, lastMade;

function made(headers) {
  const names = Object.keys(headers);
  if (names.length !== Object.keys(last).length || names.some((name) => headers[name] !== last[name] && name !== "content-length")) {
    lastMade = new Headers(headers);
    last = headers;
  }
  lastMade.set("content-length", headers["content-length"]);
  return lastMade;
}

function readSettings(env) {
  const text = (name) => (typeof env[name] === "string" ? env[name].trim() : "");
  const facts = [["plain-http", text("STAGGER_PLAIN_HTTP")], ["open", text("STAGGER_OPEN")]];
  const hosts = text("STAGGER_HOSTS").toLowerCase();
  const [[, plain], [, open]] = facts;
  if (plain !== "") console.warn(`stagger: configurations are served over plain http to: ${plain}`);
  if (open !== "") console.warn(`stagger: no token is asked for, anyone can read the credentials of: ${open}`);

  // Without keys the core answers 500.
  const none = (why) => {
    console.error(`stagger: ${why}: every request is answered with an error`);
    return { env, facts, hosts, keys: [], seal: new Seal([], true) };
  };
  const sealed = text("STAGGER_SEALED");
  if (sealed !== "" && sealed !== "required") return none('STAGGER_SEALED is neither empty nor "required"');
  const keys = [];
  for (const name of ["STAGGER_MASTER_KEY", "STAGGER_MASTER_KEY_PREVIOUS"]) {
    const value = text(name);
    if (value === "" && name !== "STAGGER_MASTER_KEY") continue;
    // Also when only the previous one is wrong: half a rotation would look healthy
    // and refuse half of the phones.
    if (!/^([0-9a-f]{2}){32,}$/i.test(value)) return none(`${name} is not 32 bytes or more in hexadecimal`);
    keys.push(Uint8Array.from(value.match(/../g), (byte) => parseInt(byte, 16)));
  }
  return { env, facts, hosts, keys, seal: new Seal(keys, sealed !== "") };
}
