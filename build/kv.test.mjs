// From a fleet file to a phone: what "stagger kv" writes, loaded by wrangler into a
// local KV, sealed, and served from there by the Worker.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { Connection, requestBytes } from "./http1.mjs";
import { CORE, ROOT, startWorkers, WORKER } from "./miniflare.mjs";
import { target } from "./token.mjs";
import { wrangler } from "./wrangler.mjs";

const KEY = "4b".repeat(32);
const MINUTE = 60_000;
const folder = mkdtempSync(`${tmpdir()}/stagger-kv-`);
const state = `${folder}/state`;
const demo = `${ROOT}/testdata/fleets/demo.jsonl`, edited = `${folder}/fleet.jsonl`;

before(() => execFileSync("go", ["build", "-o", `${folder}/stagger`, "./host"], { cwd: ROOT }));
after(() => rmSync(folder, { recursive: true }));

const stagger = (...parameters) => execFileSync(`${folder}/stagger`, parameters,
  { encoding: "utf8", env: { ...process.env, STAGGER_MASTER_KEY: KEY }, stdio: ["ignore", "pipe", "pipe"] });

async function load(name, ...parameters) {
  const { put, delete: gone } = JSON.parse(stagger("kv", "--seal", "--json", "--out", `${folder}/${name}`, ...parameters));
  const local = ["--binding", "FLEET", "--local", "--persist-to", state];
  for (const { file } of put) await wrangler(["kv", "bulk", "put", `${folder}/${name}/${file}`, ...local], MINUTE, () => false);
  for (const { file } of gone) await wrangler(["kv", "bulk", "delete", `${folder}/${name}/${file}`, "--force", ...local], MINUTE, () => false);
  return [put.length, gone.length];
}

/** What the Worker gives each of these devices for its configuration. */
async function served(...macs) {
  const bindings = { STAGGER_MASTER_KEY: KEY, STAGGER_SEALED: "required" };
  const workers = await startWorkers([{ name: "site", modules: WORKER, core: readFileSync(CORE), bindings }], () => {}, state);
  try {
    const connection = new Connection(workers.ports.site);
    const answers = [];
    for (const device of macs) {
      const url = `https://phones.example${target(KEY, { tenant: "demo", device })}`;
      const { status, body } = await connection.exchange(requestBytes("GET", url, [["host", "phones.example"]]));
      answers.push(status === 200 ? body.toString() : status);
    }
    connection.close();
    return answers;
  } finally {
    await workers.stop();
  }
}

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
});
