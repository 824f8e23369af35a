// edge/worker/telemetry.mjs: first with a clock and a sink that are played, then in
// workerd, with a sink on loopback and the platform's own binding.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { kept, telemetryOf } from "../edge/worker/telemetry.mjs";
import { readFileSync } from "node:fs";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, startWorkers, WORKER } from "./miniflare.mjs";
import { target } from "./token.mjs";

const SECOND = 1000, MINUTE = 60 * SECOND;
const MAC = "001565aabbcc";
const SINK = "https://sink.example/SECRETpath";

// The played sink stands in for fetch; what is said on console.error is kept.
let sent, answer, said;
const real = { fetch: globalThis.fetch, error: console.error };

describe("with a clock and a sink that are played", () => {
  before(() => { console.error = (line) => said.push(line); });
  after(() => { globalThis.fetch = real.fetch; console.error = real.error; });

  /** An isolate: `ask` is a request at a time, and settles when all that it began has. */
  function isolate({ env = {}, random = () => 0.5, key } = {}) {
    [sent, said, answer] = [[], [], () => new Response()];
    globalThis.fetch = async (url, { headers, body, redirect, signal }) => {
      assert.equal(url, SINK);
      assert.equal(redirect, "manual");
      assert.ok(signal instanceof AbortSignal);
      const lines = body.split("\n");
      assert.equal(lines.pop(), "");
      sent.push({ at: clock.now, headers, lines: lines.map((line) => JSON.parse(line)) });
      return answer();
    };
    const clock = { now: 0 };
    const telemetry = telemetryOf({ STAGGER_TELEMETRY: SINK, ...env }, key, { now: () => clock.now, random });
    const ask = async (at, { audit = {}, documents = new Map(), request = {}, status = 200 } = {}) => {
      clock.now = at;
      const waiting = [];
      telemetry.record({ method: "GET", headers: new Headers(), ...request }, { status, body: new Uint8Array(7), audit: { mac: MAC, outcome: "ok", ...audit } },
        documents, at - 3, { waitUntil: (promise) => waiting.push(promise) });
      await Promise.all(waiting);
    };
    return { ask, telemetry };
  }

  test("flushes with the first request after it is due, then every interval", async () => {
    const { ask } = isolate({ random: () => 0.25 });
    for (const second of [100, 110, 114]) await ask(second * SECOND);
    assert.equal(sent.length, 0);
    await ask(115 * SECOND); // 100 and a quarter of a minute
    await ask(116 * SECOND);
    await ask(174 * SECOND);
    assert.equal(sent.length, 1);
    await ask(201 * SECOND); // 175, and late
    await ask(234 * SECOND);
    await ask(235 * SECOND);
    assert.deepEqual(sent.map(({ at, lines }) => [at / SECOND, lines.length]), [[115, 4], [201, 3], [235, 2]]);
  });

  test("isolates that began together are not together at the sink", async () => {
    const ISOLATES = 400, CELLS = 20;
    const chiSquare = async (random) => {
      const cells = new Array(CELLS).fill(0);
      for (let i = 0; i < ISOLATES; i++) {
        const { ask } = isolate({ random });
        for (let at = 0; sent.length === 0; at += SECOND) await ask(at);
        // It was due within the second before.
        cells[Math.max(Math.floor(((sent[0].at - SECOND) / MINUTE) * CELLS), 0)]++;
      }
      return cells.reduce((sum, n) => sum + (n - ISOLATES / CELLS) ** 2 / (ISOLATES / CELLS), 0);
    };
    // 19 degrees of freedom: 84 has a chance of one in a thousand million.
    assert.ok((await chiSquare(Math.random)) < 84);
    assert.ok((await chiSquare(() => 0.3)) > 84);
  });

  test("the interval and the header come from the environment", async () => {
    const { ask } = isolate({ env: { STAGGER_TELEMETRY_INTERVAL: "10", STAGGER_TELEMETRY_HEADER: "Authorization: Bearer SECRETheader" }, random: () => 0 });
    for (const second of [0, 9, 10, 11, 20]) await ask(second * SECOND);
    assert.deepEqual(sent.map(({ at }) => at / SECOND), [0, 10, 20]);
    assert.equal(sent[0].headers.get("authorization"), "Bearer SECRETheader");
    assert.equal(sent[0].headers.get("content-type"), "application/x-ndjson");
  });

  test("a record has the fields of the Go host's, and nothing of a request", async () => {
    const { ask } = isolate({ random: () => 0 });
    await ask(1_800_000_000_000, {
      audit: { tenant: "t1", file: "config", hash: "0011223344556677" },
      request: { headers: new Headers({ "cf-connecting-ip": "192.0.2.7", authorization: "SECRET", "user-agent": "SECRET" }), url: "https://x/SECRET", cf: { colo: "BEG" } },
    });
    await ask(1_800_000_060_000, { status: 500, request: { method: "HEAD" } });
    await ask(1_800_000_120_000, { request: { method: "SECRET" } });
    assert.deepEqual(sent.map(({ lines }) => lines), [
      [{ time: "2027-01-15T08:00:00.000Z", level: "INFO", msg: "request", method: "GET", status: 200, bytes: 7, ms: 3,
        remote: "192.0.2.7", colo: "BEG", mac: MAC, outcome: "ok", tenant: "t1", file: "config", hash: "0011223344556677" }],
      [{ time: "2027-01-15T08:01:00.000Z", level: "ERROR", msg: "request", method: "HEAD", status: 500, bytes: 0, ms: 3, mac: MAC, outcome: "ok" }],
      [{ time: "2027-01-15T08:02:00.000Z", level: "INFO", msg: "request", method: "other", status: 200, bytes: 7, ms: 3, mac: MAC, outcome: "ok" }],
    ]);
  });

  test("documents are told apart by the word that the Go host has for them", async () => {
    // The example of host/serve/documents_test.go.
    const { ask } = isolate({ random: () => 0, key: new TextEncoder().encode("current") });
    const store = { "tenant:demo": '{"tenant":"demo"}', "device:demo:001565aabb01": '{"device":"001565aabb01"}' };
    const example = async (change, encode = (text) => new TextEncoder().encode(text).buffer) => {
      const documents = new Map(), all = { ...store, ...change };
      const get = kept(documents, async (key) => {
        if (all[key] === undefined) throw new Error("SECRET");
        return all[key] === null ? null : encode(all[key]);
      });
      await Promise.allSettled(Object.keys(all).map(get));
      await ask(sent.length * MINUTE, { documents });
      return sent.at(-1).lines[0].documents;
    };
    assert.equal(await example({}), "a9de91485e205fef");
    assert.equal(await example({}, (text) => text), "a9de91485e205fef");
    assert.notEqual(await example({ "tenant:demo": "{}" }), "a9de91485e205fef");
    assert.match(await example({ "device:demo:001565aabb01": null }), /^[0-9a-f]{16}$/);
    assert.equal(await example({ "device:demo:001565aabb01": undefined }), undefined);
    assert.equal(await example({ "tenant:demo": undefined }), undefined);
  });

  test("a sink that is away is asked again after a random pause that grows, and gets all", async () => {
    const { ask } = isolate({ random: () => 0.5 });
    answer = () => new Response("SECRET", { status: 500 });
    let second = 0;
    for (; second < 400; second++) await ask(second * SECOND, { audit: { n: second } });
    // Half of 1, 2, 4 ... seconds, and the first request after that.
    assert.deepEqual(sent.map(({ at }) => at / SECOND).slice(0, 8), [30, 31, 32, 34, 38, 46, 62, 94]);
    answer = () => new Response();
    for (; sent.at(-1).lines.length < 2 || sent.at(-1).lines[0].n === sent.at(-2).lines[0].n; second++) await ask(second * SECOND, { audit: { n: second } });
    assert.deepEqual(sent.at(-2).lines.map(({ n }) => n), Array.from({ length: second - (sent.at(-1).lines.length) }, (_, n) => n));
    assert.equal(said.length, 1);
    assert.doesNotMatch(said[0], /SECRET|sink\.example/);
  });

  test("429 and 503 are not asked before they want to be", async () => {
    for (const [status, header, wait] of [[429, "90", 90], [503, "90", 90], [503, new Date(90 * SECOND).toUTCString(), 90], [429, "99999999", 3600], [503, "soon", 0], [503, "-5", 0], [500, "90", 0]]) {
      const { ask } = isolate({ random: () => 0 });
      answer = () => new Response(null, { status, headers: { "retry-after": header } });
      for (let second = 0; sent.length < 2; second++) await ask(second * SECOND);
      assert.equal(sent[1].at / SECOND, Math.max(wait, 1), `${status} ${header}`);
    }
  });

  test("what a sink will never take is dropped and counted, and so is what has no room", async () => {
    let { ask } = isolate({ random: () => 0 });
    for (const status of [400, 413, 422]) {
      answer = () => new Response(null, { status });
      await ask(sent.length * MINUTE);
    }
    answer = () => new Response();
    await ask(3 * MINUTE);
    const [dropped, ...others] = sent.at(-1).lines;
    assert.deepEqual(dropped, { time: "1970-01-01T00:03:00.000Z", level: "WARN", msg: "dropped", records: 3 });
    assert.equal(others.length, 1);

    ({ ask } = isolate({ random: () => 0.999 }));
    answer = () => { throw new TypeError(`fetch failed: ${SINK}`); };
    const RECORDS = 3000;
    for (let n = 0; n < RECORDS; n++) await ask(n, { audit: { n, error: "x".repeat(500) } });
    await ask(RECORDS, { audit: { n: "huge", error: "x".repeat(10_000) } });
    answer = () => new Response();
    await ask(2 * MINUTE, { audit: { n: RECORDS } });
    const { lines } = sent.at(-1);
    assert.ok(JSON.stringify(lines).length < 512 * 1024 + 1024);
    assert.equal(lines[0].records + lines.length - 1, RECORDS + 2);
    // The oldest went.
    assert.deepEqual(lines.slice(1).map(({ n }) => n), Array.from({ length: lines.length - 1 }, (_, i) => RECORDS + 2 - lines.length + i));
    assert.doesNotMatch(said.join(), /SECRET/);
  });

  test("a full buffer does not wait", async () => {
    const { ask } = isolate({ random: () => 0.999 });
    for (let n = 0; sent.length === 0; n++) await ask(n, { audit: { error: "x".repeat(1000) } });
    assert.ok(sent[0].at < SECOND);
    assert.ok(JSON.stringify(sent[0].lines).length < 512 * 1024);
  });

  test("one flush at a time, and one that is never heard of again is sent anew", async () => {
    const { ask } = isolate({ random: () => 0 });
    answer = () => new Promise(() => {});
    void ask(0, { audit: { n: 0 } });
    await sleep(1);
    for (let second = 1; second <= 60; second++) await ask(second * SECOND, { audit: { n: second } });
    assert.equal(sent.length, 1);
    answer = () => new Response();
    await ask(61 * SECOND, { audit: { n: 61 } });
    assert.deepEqual(sent.at(-1).lines.map(({ n }) => n), Array.from({ length: 62 }, (_, n) => n));
  });

  test("wrong settings are said once, without their values, and phones are served", () => {
    for (const [env, name] of [
      [{ STAGGER_TELEMETRY: "SECRET" }, "STAGGER_TELEMETRY"],
      [{ STAGGER_TELEMETRY: "ftp://sink.example" }, "STAGGER_TELEMETRY"],
      [{ STAGGER_TELEMETRY: "https://ada:SECRET@sink.example" }, "STAGGER_TELEMETRY"],
      [{ STAGGER_TELEMETRY: SINK, STAGGER_TELEMETRY_INTERVAL: "0" }, "STAGGER_TELEMETRY_INTERVAL"],
      [{ STAGGER_TELEMETRY: SINK, STAGGER_TELEMETRY_INTERVAL: "SECRET" }, "STAGGER_TELEMETRY_INTERVAL"],
      [{ STAGGER_TELEMETRY: SINK, STAGGER_TELEMETRY_HEADER: "SECRET" }, "STAGGER_TELEMETRY_HEADER"],
      [{ STAGGER_TELEMETRY: SINK, STAGGER_TELEMETRY_HEADER: "a b: SECRET" }, "STAGGER_TELEMETRY_HEADER"],
      [{ STAGGER_TELEMETRY: SINK, STAGGER_TELEMETRY_HEADER: ": SECRET" }, "STAGGER_TELEMETRY_HEADER"],
    ]) {
      said = [];
      assert.equal(telemetryOf(env, undefined, { now: Date.now }), undefined);
      assert.equal(said.length, 1, JSON.stringify(env));
      assert.ok(said[0].startsWith(`stagger: ${name} is not `), said[0]);
      assert.doesNotMatch(said[0], /SECRET/);
    }
    said = [];
    for (const env of [{}, { STAGGER_TELEMETRY: "" }, { TELEMETRY: "stagger" }]) assert.equal(telemetryOf(env, undefined, { now: Date.now }), undefined);
    assert.deepEqual(said, []);
  });

  test("Analytics Engine gets every record at once", async () => {
    const points = [];
    const { ask } = isolate({ env: { STAGGER_TELEMETRY: "", TELEMETRY: { writeDataPoint: (point) => points.push(point) } } });
    await ask(0, { audit: { tenant: "t1", vendor: "yealink", file: "config", hash: "00" }, request: { headers: new Headers({ "cf-connecting-ip": "192.0.2.7" }), cf: { colo: "BEG" } } });
    await ask(1, { audit: { mac: undefined, outcome: "malformed" }, status: 404 });
    assert.equal(sent.length, 0);
    assert.deepEqual(points, [
      { indexes: [MAC], blobs: ["t1", MAC, "yealink", "config", "ok", "00", "", "192.0.2.7", "BEG", "GET", ""], doubles: [200, 7, 3] },
      { indexes: [""], blobs: ["", "", "", "", "malformed", "", "", "", "", "GET", ""], doubles: [404, 7, 3] },
    ]);
  });
});

describe("in workerd", { timeout: 60_000 }, () => {
  const KEY = "4b".repeat(32);
  const TENANT = { tenant: "t1", url: "https://phones.example", vendor: "yealink", model: "T46U", line: { server: "pbx.example.com" } };
  const DEVICE = { device: MAC, tenant: "t1", lines: [{ user: "1001", password: "hunter22" }] };
  const got = [], logged = [];
  let ailing = false, sink, workers;

  before(async () => {
    sink = createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
        got.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString(), ailing });
        if (ailing) return response.socket.resetAndDestroy();
        response.end();
      });
    });
    await new Promise((resolve) => sink.listen(0, "127.0.0.1", resolve));
    const worker = (name, bindings, more) => ({ name, modules: WORKER, core: readFileSync(CORE), bindings: { STAGGER_MASTER_KEY: KEY, ...bindings }, ...more });
    workers = await startWorkers([
      worker("off", {}),
      worker("url", { STAGGER_TELEMETRY: `http://127.0.0.1:${sink.address().port}/in`, STAGGER_TELEMETRY_INTERVAL: "1", STAGGER_TELEMETRY_HEADER: "Authorization: Bearer x" }),
      worker("dataset", {}, { dataset: true }),
    ], (line, stream) => logged.push({ line, stream }));
    const fleet = await workers.fleet();
    await fleet.put("tenant:t1", JSON.stringify(TENANT));
    await fleet.put(`device:t1:${MAC}`, JSON.stringify(DEVICE));
  });
  after(async () => {
    await workers?.stop();
    await new Promise((resolve) => sink.close(resolve));
  });

  const ask = async (name, path = target(KEY, DEVICE)) => {
    const connection = new Connection(workers.ports[name]);
    try {
      return await connection.exchange(requestBytes("GET", `https://phones.example${path}`, [["host", "phones.example"]]), {});
    } finally {
      connection.close();
    }
  };

  /** Asks until something holds: a flush comes with a request. */
  async function until(name, holds) {
    for (let asked = 1; asked <= 1000; asked++) {
      assert.equal((await ask(name)).status, 200);
      if (holds()) return asked;
      await sleep(20);
    }
    assert.fail("it never held");
  }

  test("records reach the sink, all of them, also after it was away", async () => {
    const records = () => got.filter((flush) => !flush.ailing).flatMap(({ body }) => body.trim().split("\n").map((line) => JSON.parse(line)));
    let asked = await until("url", () => records().length > 0);
    ailing = true;
    asked += await until("url", () => got.at(-1).ailing);
    ailing = false;
    const before = records().length;
    asked += await until("url", () => records().length > before);
    asked += await until("url", () => records().length >= asked - 100 && records().length > before + 1);
    const all = records();
    assert.ok(all.length <= asked && all.length > before);
    for (const record of all) {
      assert.deepEqual({ ...record, time: 0, ms: 0, hash: 0, timers: 0 }, {
        time: 0, level: "INFO", msg: "request", method: "GET", status: 200, bytes: record.bytes, ms: 0, tenant: "t1", file: "config", mac: MAC,
        key: "current", vendor: "yealink", hash: 0, timers: 0, outcome: "ok", documents: all[0].documents,
      });
    }
    assert.match(all[0].documents, /^[0-9a-f]{16}$/);
    assert.equal(got[0].url, "/in");
    assert.equal(got[0].headers.authorization, "Bearer x");
  });

  test("Analytics Engine is written to, and phones see nothing of any of it", async () => {
    const [off, url, dataset] = [await ask("off"), await ask("url"), await ask("dataset")];
    assert.equal(off.status, 200);
    assert.deepEqual(url, off);
    assert.deepEqual(dataset, off);
    assert.deepEqual(await ask("dataset", "/"), await ask("off", "/"));
    await sleep(50);
    assert.deepEqual(logged.filter(({ line }) => /telemetry: /.test(line)), []);
  });
});
