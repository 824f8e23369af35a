// edge/worker/cloudflare.mjs with the real core and platform objects that are played:
// what workerd on this machine cannot be made to say.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createWorker } from "../edge/worker/cloudflare.mjs";
import { CORE } from "./miniflare.mjs";
import { token } from "./token.mjs";

const KEY = "5e".repeat(32);
const MAC = "001565aabbcc";
const TENANT = { tenant: "t1", url: "https://prov.example.com", client_cert: true, vendor: "yealink", model: "T31G", state: "staged" };
const DEVICE = { device: MAC, tenant: "t1" };
const CERTIFICATE = {
  certPresented: "1", certVerified: "SUCCESS", certRevoked: "0",
  certSubjectDNRFC2253: "CN=001565AABBCC,O=Yealink,C=CN", certIssuerDNRFC2253: "CN=Yealink Equipment Issuing CA,O=Yealink,C=CN",
};

// What the Worker logs, which must never hold a token.
const logged = [];
const log = console.log;
before(() => { console.log = (line) => logged.push(line); });
after(() => {
  console.log = log;
  const all = logged.join("\n");
  assert.ok(logged.length > 10_000);
  assert.ok(!all.includes(token(KEY, "t1", MAC)) && !all.includes(token(KEY, "t1", MAC).slice(4)));
  assert.ok(!all.includes(KEY));
});

const module = new WebAssembly.Module(readFileSync(CORE));

function site(documents = { "tenant:t1": TENANT, [`device:t1:${MAC}`]: DEVICE }, variables = {}) {
  const reads = [];
  const env = {
    ...variables,
    STAGGER_MASTER_KEY: KEY,
    FLEET: {
      get: async (key) => {
        reads.push(key);
        return key in documents ? new TextEncoder().encode(JSON.stringify(documents[key])).buffer : null;
      },
    },
  };
  const worker = createWorker(module, { now: () => 1_800_000_000_000 });
  const ask = (path, { method = "GET", headers = {}, cf } = {}) =>
    worker.fetch({ url: `https://phones.example${path}`, method, headers: new Headers(headers), cf }, env);
  return { reads, ask };
}

const path = (mac = MAC) => `/t1/${token(KEY, "t1", mac)}/${mac}.boot`;

test("a client certificate counts when the platform says all of it", async () => {
  const { ask } = site();
  for (const [name, change, status] of [
    ["right", {}, 200],
    ["not presented", { certPresented: "0" }, 404],
    ["presented is a number", { certPresented: 1 }, 404],
    ["self-signed", { certVerified: "FAILED:self signed certificate" }, 404],
    ["none", { certVerified: "NONE" }, 404],
    ["revoked", { certRevoked: "1" }, 404],
    ["revocation unknown", { certRevoked: undefined }, 404],
    ["revocation is false", { certRevoked: false }, 404],
    ["another phone's", { certSubjectDNRFC2253: "CN=001565aabbcd" }, 404],
    ["another issuer's", { certIssuerDNRFC2253: "CN=Other CA" }, 404],
    ["subject missing", { certSubjectDNRFC2253: undefined }, 404],
  ]) {
    const response = await ask(path(), { cf: { tlsClientAuth: { ...CERTIFICATE, ...change } } });
    assert.equal(response.status, status, name);
  }
  for (const cf of [undefined, null, {}, { tlsClientAuth: null }, { tlsClientAuth: {} }, { tlsClientAuth: "1" }]) {
    assert.equal((await ask(path(), { cf })).status, 404, JSON.stringify(cf));
  }
  // What a client writes into headers is nothing to go by.
  const headers = { "cf-client-cert-presented": "1", "cert-presented": "1", "cert-verified": "SUCCESS" };
  assert.equal((await ask(path(), { headers })).status, 404);
});

test("scanners cost no look-up", async () => {
  const { reads, ask } = site();
  for (let n = 0; n < 10_000; n++) {
    const mac = `001565${n.toString(16).padStart(6, "0")}`;
    const response = await ask(`/t1/${"a".repeat(30)}/${mac}.cfg`);
    assert.equal(response.status, 404);
  }
  assert.equal(reads.length, 0);
  assert.equal((await ask(path(), { cf: { tlsClientAuth: CERTIFICATE } })).status, 200);
  assert.deepEqual(reads.sort(), [`device:t1:${MAC}`, "tenant:t1"]);
});

test("a site of 300 phones behind one address is served", async () => {
  const documents = { "tenant:t1": { ...TENANT, client_cert: false } };
  const macs = Array.from({ length: 300 }, (_, n) => `001565${(0xaa0000 + n).toString(16)}`);
  for (const mac of macs) documents[`device:t1:${mac}`] = { device: mac, tenant: "t1" };
  const { ask } = site(documents);
  const headers = { "cf-connecting-ip": "192.0.2.1" };
  const statuses = await Promise.all(macs.map(async (mac) => (await ask(path(mac), { headers })).status));
  assert.deepEqual([...new Set(statuses)], [200]);
});

test("what does not open is a failure of the store, and the log says why", async () => {
  const errors = [];
  const { error } = console;
  console.error = (line) => errors.push(line);
  try {
    const documents = { "tenant:t1": { ...TENANT, client_cert: false }, [`device:t1:${MAC}`]: DEVICE };
    assert.equal((await site(documents, { STAGGER_SEALED: "" }).ask(path())).status, 200);
    assert.deepEqual(errors.splice(0), []);
    assert.equal((await site(documents, { STAGGER_SEALED: "required" }).ask(path())).status, 503);
    assert.deepEqual(errors.splice(0).sort(), [`stagger: device:t1:${MAC} is not sealed`, "stagger: tenant:t1 is not sealed"]);
    const { reads, ask } = site(documents, { STAGGER_SEALED: "Required" });
    assert.equal((await ask(path())).status, 500);
    assert.deepEqual(errors.splice(0), ['stagger: STAGGER_SEALED is neither empty nor "required": every request is answered with an error']);
    assert.deepEqual(reads, []);
  } finally {
    console.error = error;
  }
});

test("the module's memory holds nothing of a request", async () => {
  // Whatever memory the shim makes from here on is at hand for the search.
  const memories = [];
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (...args) {
    const instance = new Instance(...args);
    memories.push(instance.exports.memory);
    return instance;
  };
  try {
    const SECRETS = ["adminSECRETzq7", "sipSECRETzq7", "labelSECRETzq7"];
    const { ask } = site({
      "tenant:t1": { ...TENANT, client_cert: false, state: "active", admin_password: SECRETS[0], line: { server: "pbx.example.com" } },
      [`device:t1:${MAC}`]: { ...DEVICE, lines: [{ user: "1", password: SECRETS[1], label: SECRETS[2] }] },
    });
    const response = await ask(path().replace(".boot", ".cfg"));
    const body = await response.text();
    assert.equal(response.status, 200);
    for (const secret of SECRETS) assert.ok(body.includes(secret));
    assert.ok(memories.length > 0);
    for (const memory of memories) {
      const bytes = Buffer.from(memory.buffer);
      for (const secret of [...SECRETS, token(KEY, "t1", MAC), token(KEY, "t1", MAC).slice(4), Buffer.from(KEY, "hex")]) {
        assert.equal(bytes.indexOf(secret), -1);
      }
      assert.notEqual(bytes.indexOf("stagger token v1"), -1); // the search finds what is there
    }
  } finally {
    WebAssembly.Instance = Instance;
  }
});
