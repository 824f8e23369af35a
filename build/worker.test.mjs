// The Worker in workerd, over a real KV binding: first with a core that is played,
// for what the shim does, then with the real core (make build/out/edge.wasm first).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { failure } from "../edge/worker/core.mjs";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, startWorkers, WORKER } from "./miniflare.mjs";
import { NEEDS, standIn } from "./standin.mjs";
import { target } from "./token.mjs";

const KEY = "4b".repeat(32), PREVIOUS = "5c".repeat(40);
const TOKEN = "abcdefghijklmnopqrstuvwxyz234567", PASSWORD = "hunter22";
const PATH = `/t1/${TOKEN}/001565aabbcc.cfg?x=1`;

/** Workers under test, and what they log. */
class Site {
  logged = [];

  async start(workers) {
    this.workers = await startWorkers(workers, (line, stream) => this.logged.push({ line, stream }));
  }

  async stop() {
    await this.workers?.stop();
  }

  /** Sends one request; headers beside Host are as given. */
  async ask(name, method, target, headers = [], { scheme = "https", body } = {}) {
    const connection = new Connection(this.workers.ports[name]);
    try {
      const bytes = requestBytes(method, `${scheme}://phones.example${target}`, [["host", "phones.example"], ...headers], body);
      return await connection.exchange(bytes, { head: method === "HEAD" });
    } finally {
      connection.close();
    }
  }

  /** The lines logged since the last time; they arrive a little after the response. */
  async lines() {
    for (let i = 0; i < 100 && this.logged.length === 0; i++) await sleep(10);
    await sleep(20);
    return this.logged.splice(0);
  }
}

const header = (response, name) => response.headers.find(([n]) => n === name)?.[1];

function assertFailure(response) {
  const { status, headers, body } = failure(new Error());
  assert.equal(response.status, status);
  assert.deepEqual([...response.headers].sort(), Object.entries(headers).sort());
  assert.equal(response.body.toString(), Buffer.from(body).toString());
}

/** Reads what the played core echoed: the request as it came out of the shim. */
function decodeRequest(data) {
  let at = 0;
  const u32 = () => data.readUInt32LE((at += 4) - 4);
  const bytes = () => { const n = u32(); return data.subarray(at, (at += n)); };
  const text = () => bytes().toString();
  const list = (item) => Array.from({ length: u32() }, item);
  return {
    flags: u32(), now: u32() + u32() * 2 ** 32, method: text(), target: text(),
    facts: Object.fromEntries(list(() => [text(), text()])),
    keys: list(() => bytes().toString("hex")),
    documents: list(() => [text(), u32(), bytes().toString("latin1")]),
  };
}

describe("the shim with a core that is played", { timeout: 60_000 }, () => {
  const site = new Site();
  before(async () => {
    const core = standIn();
    const worker = (name, bindings, more) => ({ name, modules: WORKER, core, bindings, ...more });
    await site.start([
      worker("both-keys", { STAGGER_MASTER_KEY: KEY, STAGGER_MASTER_KEY_PREVIOUS: PREVIOUS.toUpperCase() }),
      worker("no-key", {}),
      worker("short-key", { STAGGER_MASTER_KEY: KEY.slice(2) }),
      worker("bad-previous", { STAGGER_MASTER_KEY: KEY, STAGGER_MASTER_KEY_PREVIOUS: "previous" }),
      worker("weakened", { STAGGER_MASTER_KEY: KEY, STAGGER_PLAIN_HTTP: "t1,t2", STAGGER_OPEN: "lab" }),
      worker("no-store", { STAGGER_MASTER_KEY: KEY }, { kv: false }),
    ]);
  });
  after(() => site.stop());
  const echo = async (...request) => decodeRequest((await site.ask(...request)).body);

  test("hands over the request, the documents and the keys", async () => {
    const fleet = await site.workers.fleet();
    // Neither a byte order mark nor broken UTF-8 may be mended on the way.
    const value = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0xff, 0x00, 0x7d]);
    await fleet.put(NEEDS[1], value.buffer.slice(value.byteOffset, value.byteOffset + value.length));
    const seconds = Date.now() / 1000;
    const got = await echo("both-keys", "GET", PATH, [["User-Agent", "Yealink SIP-T46S 66.86.0.15 00:15:65:aa:bb:cc"], ["Authorization", "Basic x"], ["X-Forwarded-Proto", "http"]]);
    assert.ok(Math.abs(got.now - seconds) < 10, `now is ${got.now}`);
    assert.deepEqual({ ...got, now: 0 }, {
      flags: 1, now: 0, method: "GET", target: PATH,
      facts: { authorization: "Basic x", "user-agent": "Yealink SIP-T46S 66.86.0.15 00:15:65:aa:bb:cc", "plain-http": "", open: "" },
      keys: [KEY, PREVIOUS],
      documents: [[NEEDS[0], 1, ""], [NEEDS[1], 0, value.toString("latin1")]],
    });
    await fleet.delete(NEEDS[1]);
    assert.deepEqual((await echo("both-keys", "GET", PATH)).documents[1], [NEEDS[1], 1, ""], "a deleted document is still there");
  });

  test("hands over targets as they come", async () => {
    for (const target of ["/", "//t1//x", "/t1/./../x", "/t1/%2e%2e/x", "/t1/..%2fx", "/t1/..\\x", "/x?a=1&b=%20?#f", "/x#f", "/%zz", "/t1/x?", "/a'\"<>|^`{}"]) {
      assert.equal((await echo("both-keys", "GET", target)).target, target);
    }
    assert.equal((await echo("both-keys", "GET", "")).target, "/");
    assert.equal((await echo("both-keys", "GET", "?a=/b")).target, "?a=/b");
  });

  test("tells plain http from TLS by the URL alone", async () => {
    assert.equal((await echo("both-keys", "GET", PATH, [["X-Forwarded-Proto", "https"]], { scheme: "http" })).flags, 0);
  });

  test("cuts the user agent to 256 bytes", async () => {
    assert.equal((await echo("both-keys", "GET", PATH, [["user-agent", "x".repeat(8192)]])).facts["user-agent"], "x".repeat(256));
  });

  test("sends the core's headers and no others", async () => {
    const response = await site.ask("both-keys", "GET", PATH, [["accept-encoding", "gzip, br"]]);
    assert.deepEqual([...response.headers].sort(), [["content-length", "4096"], ["content-type", "application/octet-stream"]]);
  });

  test("HEAD carries the length of the body that it does not carry", async () => {
    const response = await site.ask("both-keys", "HEAD", PATH);
    assert.deepEqual([...response.headers].sort(), [["content-length", "4096"], ["content-type", "text/plain; charset=utf-8"]]);
  });

  test("PUT is answered before its body is sent", async () => {
    const response = await site.ask("both-keys", "PUT", PATH, [["content-length", "100000000"]]);
    assert.equal(response.status, 405);
    assert.deepEqual([...response.headers].sort(), [["allow", "GET, HEAD"], ["content-length", "0"]]);
  });

  test("keys that are missing or wrong are not handed over at all", async () => {
    await site.lines();
    for (const [name, variable] of [["no-key", "STAGGER_MASTER_KEY"], ["short-key", "STAGGER_MASTER_KEY"], ["bad-previous", "STAGGER_MASTER_KEY_PREVIOUS"]]) {
      assert.deepEqual((await echo(name, "GET", PATH)).keys, []);
      await echo(name, "GET", PATH);
      const notices = (await site.lines()).filter(({ stream }) => stream === "stderr");
      assert.equal(notices.length, 1, "once for each isolate");
      assert.equal(notices[0].line, `stagger: ${variable} is not 32 bytes or more in hexadecimal: every request is answered with an error`);
    }
  });

  test("what weakens a tenant is announced", async () => {
    await site.lines();
    const { facts } = await echo("weakened", "GET", PATH);
    assert.deepEqual(facts, { "plain-http": "t1,t2", open: "lab" });
    await echo("weakened", "GET", PATH);
    const notices = (await site.lines()).filter(({ stream }) => stream === "stderr").map(({ line }) => line);
    assert.deepEqual(notices, [
      "stagger: configurations are served over plain http to: t1,t2",
      "stagger: no token is asked for, anyone can read the credentials of: lab",
    ]);
  });

  test("a store that is away is told to the core", async () => {
    assert.deepEqual((await echo("no-store", "GET", PATH)).documents, NEEDS.map((key) => [key, 2, ""]));
  });

  test("a document that is too large, a trap, a core that never ends: the failure, and the next request is fine", async () => {
    const fleet = await site.workers.fleet();
    await fleet.put(NEEDS[0], "x".repeat(700_000));
    assertFailure(await site.ask("both-keys", "GET", PATH));
    await fleet.delete(NEEDS[0]);
    for (const method of ["PATCH", "POST"]) {
      assertFailure(await site.ask("both-keys", method, PATH, [["content-length", "0"]]));
      assert.equal((await site.ask("both-keys", "GET", PATH)).status, 200);
    }
    const head = await site.ask("both-keys", "PATCH", PATH, [["content-length", "0"]]);
    assert.equal(header(head, "content-length"), "6");
  });

  test("one line is logged for each request, made of the audit record", async () => {
    await site.lines();
    await site.ask("both-keys", "GET", PATH, [["authorization", `Basic ${PASSWORD}`], ["user-agent", PASSWORD]]);
    await site.ask("both-keys", "PATCH", PATH, [["content-length", "0"], ["authorization", `Basic ${PASSWORD}`]]);
    const lines = await site.lines();
    assert.deepEqual(lines.filter(({ stream }) => stream === "stdout").map(({ line }) => JSON.parse(line)), [
      { outcome: "echo", mac: "001565aabbcc" },
      { outcome: "failed", cause: "trap" },
    ]);
    for (const secret of [TOKEN, PASSWORD, KEY, "phones.example", PATH]) {
      assert.ok(!JSON.stringify(lines).includes(secret), `${secret} was logged`);
    }
  });
});

describe("the Worker with the real core", { timeout: 60_000 }, () => {
  const TENANT = {
    tenant: "t1", url: "https://phones.example", vendor: "yealink", model: "T46U",
    line: { server: "pbx.example.com", transport: "tls" },
  };
  const DEVICE = { device: "001565aabbcc", tenant: "t1", lines: [{ user: "1001", password: PASSWORD }] };
  const site = new Site();
  before(async () => {
    const core = readFileSync(CORE);
    const worker = (name, bindings, more) => ({ name, modules: WORKER, core, bindings, ...more });
    await site.start([
      worker("site", { STAGGER_MASTER_KEY: KEY }),
      worker("rotating", { STAGGER_MASTER_KEY: PREVIOUS, STAGGER_MASTER_KEY_PREVIOUS: KEY }),
      worker("no-key", {}),
      worker("no-store", { STAGGER_MASTER_KEY: KEY }, { kv: false }),
      worker("plain", { STAGGER_MASTER_KEY: KEY, STAGGER_PLAIN_HTTP: "t0,t1" }),
    ]);
    const fleet = await site.workers.fleet();
    await fleet.put("tenant:t1", JSON.stringify(TENANT));
    await fleet.put("device:t1:001565aabbcc", JSON.stringify(DEVICE));
  });
  after(() => site.stop());
  const url = target(KEY, DEVICE);

  test("a phone gets its file, the same each time and with either key", async () => {
    const first = await site.ask("site", "GET", url);
    assert.equal(first.status, 200);
    assert.match(first.body.toString(), new RegExp(`^account\\.1\\.password = ${PASSWORD}$`, "m"));
    assert.equal(header(first, "content-length"), String(first.body.length));
    for (let i = 0; i < 20; i++) assert.deepEqual(await site.ask("site", "GET", url), first);
    const rotated = await site.ask("rotating", "GET", url);
    assert.equal(rotated.status, 200);
    assert.match(rotated.body.toString(), new RegExp(target(PREVIOUS, DEVICE, "").slice(0, -DEVICE.device.length)));
  });

  test("HEAD has the headers of GET and no body", async () => {
    const [get, head] = [await site.ask("site", "GET", url), await site.ask("site", "HEAD", url)];
    assert.equal(head.status, 200);
    assert.deepEqual(head.headers, get.headers);
    assert.equal(head.body.length, 0);
  });

  test("phones that ask at the same moment get their own files", async () => {
    const fleet = await site.workers.fleet();
    const devices = Array.from({ length: 40 }, (_, i) => ({ ...DEVICE, device: `0015650000${i + 10}`, lines: [{ user: `u${i}`, password: `password-of-${i}` }] }));
    await Promise.all(devices.map((device) => fleet.put(`device:t1:${device.device}`, JSON.stringify(device))));
    const answers = await Promise.all(devices.map((device) => site.ask("site", "GET", target(KEY, device))));
    for (const [i, { status, body }] of answers.entries()) {
      assert.equal(status, 200);
      assert.deepEqual(body.toString().match(/password-of-\d+/g), [`password-of-${i}`]);
    }
  });

  test("a wrong token, an unknown phone and a scanner get the same refusal", async () => {
    const wrong = await site.ask("site", "GET", url.replace(/.\/001565aabbcc/, (end) => (end[0] === "a" ? "b" : "a") + end.slice(1)));
    assert.equal(wrong.status, 404);
    const unknown = target(KEY, { ...DEVICE, device: "001565000001" });
    for (const path of [unknown, "/", "/favicon.ico", url.replace("/t1/", "//t1/"), url.replace("/t1/", "/t1/../t1/"), `${url}#x`, url.replace("/t1/", "/t2/"), url + "%0d%0aX:1"]) {
      assert.deepEqual(await site.ask("site", "GET", path), wrong, path);
    }
  });

  test("PUT is refused before its body is sent", async () => {
    const response = await site.ask("site", "PUT", url, [["content-length", "100000000"]]);
    assert.equal(response.status, 405);
    assert.equal(header(response, "allow"), "GET, HEAD");
    assert.equal(header(response, "content-length"), "0");
  });

  test("no key: an error for everybody", async () => {
    for (const path of [url, "/", target(PREVIOUS, DEVICE)]) assertFailure(await site.ask("no-key", "GET", path));
  });

  test("no store: 503, and only for those who have proven their token", async () => {
    assert.equal((await site.ask("no-store", "GET", url)).status, 503);
    assert.equal((await site.ask("no-store", "GET", url.replace("/t1/", "/t2/"))).status, 404);
  });

  test("plain http: refused unless the tenant allows it", async () => {
    const refused = await site.ask("site", "GET", url, [], { scheme: "http" });
    assert.equal(refused.status, 403);
    assert.equal(header(refused, "location"), undefined);
    assert.equal((await site.ask("plain", "GET", url, [], { scheme: "http" })).status, 200);
  });

  test("a document that the core refuses is an error that names it and shows nothing of it", async () => {
    const fleet = await site.workers.fleet();
    await site.lines();
    for (const value of ["", "{", `${JSON.stringify(DEVICE)} `.repeat(2), `\ufeff${JSON.stringify(DEVICE)}`, JSON.stringify({ ...DEVICE, lines: [] }), "[".repeat(200_000), "x".repeat(700_000)]) {
      await fleet.put("device:t1:001565000002", value);
      assertFailure(await site.ask("site", "GET", target(KEY, { ...DEVICE, device: "001565000002" })));
    }
    assert.equal((await site.ask("site", "GET", url)).status, 200);
    assert.ok(!JSON.stringify(await site.lines()).includes(PASSWORD));
  });

  test("what is logged holds no secret", async () => {
    await site.lines();
    await site.ask("site", "GET", `${url}?password=${PASSWORD}`, [["authorization", `Basic ${PASSWORD}`], ["user-agent", `Yealink SIP-T46U ${PASSWORD}`]]);
    const lines = await site.lines();
    assert.deepEqual(lines.map(({ line }) => JSON.parse(line).outcome), ["ok"]);
    for (const secret of [url.split("/")[2], PASSWORD, KEY, "phones.example"]) {
      assert.ok(!JSON.stringify(lines).includes(secret), `${secret} was logged`);
    }
  });
});
