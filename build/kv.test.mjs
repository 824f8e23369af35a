// From a fleet file to a phone: what "stagger kv" writes, loaded by wrangler into a
// local KV, sealed, and served from there by the Worker; and the way back, what
// "stagger render --kv" and "stagger get" see of it.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, ROOT, startWorkers, WORKER } from "./miniflare.mjs";
import { target } from "./token.mjs";
import { QUIET, wrangler } from "./wrangler.mjs";

const KEY = "4b".repeat(32);
const MINUTE = 60_000;
const folder = mkdtempSync(`${tmpdir()}/stagger-kv-`);
const state = `${folder}/state`;
const demo = `${ROOT}/testdata/fleets/demo.jsonl`, edited = `${folder}/fleet.jsonl`;

before(() => execFileSync("go", ["build", "-o", `${folder}/stagger`, "./host"], { cwd: ROOT }));
after(() => rmSync(folder, { recursive: true }));

// In build, where npx finds wrangler.
const OPTIONS = { cwd: `${ROOT}/build`, encoding: "utf8", env: { ...process.env, ...QUIET, STAGGER_MASTER_KEY: KEY } };
const stagger = (...parameters) => execFileSync(`${folder}/stagger`, parameters, { ...OPTIONS, stdio: ["ignore", "pipe", "pipe"] });

async function load(name, ...parameters) {
  const { put, delete: gone } = JSON.parse(stagger("kv", "--seal", "--json", "--out", `${folder}/${name}`, ...parameters));
  const local = ["--binding", "FLEET", "--local", "--persist-to", state];
  for (const { file } of put) await wrangler(["kv", "bulk", "put", `${folder}/${name}/${file}`, ...local], MINUTE, () => false);
  for (const { file } of gone) await wrangler(["kv", "bulk", "delete", `${folder}/${name}/${file}`, "--force", ...local], MINUTE, () => false);
  return [put.length, gone.length];
}

/** Runs the Worker over the local KV, while work is at work with its port. */
async function serving(work) {
  const bindings = { STAGGER_MASTER_KEY: KEY, STAGGER_SEALED: "required", STAGGER_PLAIN_HTTP: "demo" };
  const workers = await startWorkers([{ name: "site", modules: WORKER, core: readFileSync(CORE), bindings }], () => {}, state);
  try {
    return await work(workers.ports.site);
  } finally {
    await workers.stop();
  }
}

/** What the Worker gives each of these devices for its configuration. */
const served = (...macs) => serving(async (port) => {
  const connection = new Connection(port);
  const answers = [];
  for (const device of macs) {
    const url = `https://phones.example${target(KEY, { tenant: "demo", device })}`;
    const { status, body } = await connection.exchange(requestBytes("GET", url, [["host", "phones.example"]]));
    answers.push(status === 200 ? body.toString() : status);
  }
  connection.close();
  return answers;
});

const rendered = (fleet, mac) => stagger("render", "--engine", "native", "--fleet", fleet, mac);

test("a fleet is loaded, sealed, and then what changed of it", { timeout: 10 * MINUTE }, async () => {
  const [one, two, three, four] = ["001565aabb01", "001565aabb02", "001565aabb03", "001565aabb04"];
  assert.deepEqual(await load("first", demo), [1, 0]);
  assert.deepEqual(await served(one, two, three, four), [rendered(demo, one), rendered(demo, two), rendered(demo, three), 404]);

  const fleet = readFileSync(demo, "utf8");
  writeFileSync(edited, fleet.replace("Ada Example", "Ada O\u2019Neil <&>").replaceAll(three, four));
  assert.deepEqual(await load("second", edited, "--changed-since", demo), [1, 1]);
  const keys = JSON.parse(readFileSync(`${folder}/second/put-0001.json`, "utf8")).map(({ key }) => key);
  assert.deepEqual(keys, [`device:demo:${one}`, `device:demo:${four}`]);
  assert.deepEqual(await served(one, two, three, four), [rendered(edited, one), rendered(demo, two), 404, rendered(edited, four)]);
  assert.notEqual(rendered(edited, one), rendered(demo, one));

  const live = ["--kv", "wrangler:FLEET", "--kv-config", "../wrangler.toml", "--kv-local", state, "--tenant", "demo"];
  assert.equal(stagger("render", "--engine", "native", ...live, one), rendered(edited, one));
  assert.throws(() => stagger("explain", ...live, three), { status: 1, stderr: `the store has no device:demo:${three}\n` });

  await serving(async (port) => {
    // As a proxy, because the port wants the whole URL in a request.
    const options = { ...OPTIONS, env: { ...OPTIONS.env, HTTP_PROXY: `http://127.0.0.1:${port}` } };
    const get = (fleet) => promisify(execFile)(`${folder}/stagger`, ["get", "http://phones.example", "--wasm", CORE, "--fleet", fleet, "--json"], options);
    const { stdout, stderr } = await get(edited);
    assert.equal(stderr, "15 files of 3 phones, all as they should be\n");
    assert.deepEqual([...new Set(stdout.trim().split("\n").map((line) => JSON.parse(line).equal))], [true]);
    await assert.rejects(get(demo), ({ code, stdout, stderr }) => {
      const different = stdout.trim().split("\n").map((line) => JSON.parse(line)).filter(({ equal }) => !equal).map(({ file }) => file);
      assert.deepEqual(different, [`${one}.cfg`, `${three}.boot`, `${three}.cfg`]);
      assert.equal(stderr, "3 of 15 files are not what they should be\n");
      return code === 1;
    });
  });
});
