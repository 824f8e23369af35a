// The Worker on this machine, without an account and without the network:
//
//   node build/worker.mjs dev FLEET      serves the fleet at http://127.0.0.1:8787 until it is interrupted
//   node build/worker.mjs deploy-check   builds what `wrangler deploy` would upload, and tells its size
//
// FLEET is a fleet file, as `stagger serve` takes it. The master key comes from the
// environment, STAGGER_MASTER_KEY. All state is in build/out.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { ROOT, STATE, wrangler } from "./wrangler.mjs";

const PORT = 8787;
const MINUTE = 60_000;
// What the free plan takes, compressed.
const UPLOAD_BYTES = 3 * 1024 * 1024;

const [command, fleet] = process.argv.slice(2);
try {
  if (command === "dev" && fleet) await dev(fleet);
  else if (command === "deploy-check") await deployCheck();
  else throw new Error("usage: node build/worker.mjs dev FLEET | deploy-check");
} catch (error) {
  console.error(`worker: ${error.message}`);
  process.exitCode = 1;
}

async function dev(fleet) {
  const key = process.env.STAGGER_MASTER_KEY;
  if (!key) throw new Error("STAGGER_MASTER_KEY is not set (make one: openssl rand -hex 32)");
  needCore();
  rmSync(`${STATE}/kv`, { recursive: true, force: true });
  rmSync(`${STATE}/load`, { recursive: true, force: true });
  mkdirSync(STATE, { recursive: true });
  const { put } = JSON.parse(execFileSync(`${ROOT}/build/out/stagger`, ["kv", fleet, "--seal", "--out", `${STATE}/load`, "--json"],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
  for (const { file } of put) {
    await wrangler(["kv", "bulk", "put", `${STATE}/load/${file}`, "--binding", "FLEET", "--local", "--persist-to", `${STATE}/kv`], 5 * MINUTE, () => false);
  }
  rmSync(`${STATE}/load`, { recursive: true });
  // In a file, because arguments can be seen by everybody on the machine.
  const variables = `${STATE}/variables`;
  writeFileSync(variables, `STAGGER_MASTER_KEY=${key}\nSTAGGER_PLAIN_HTTP=demo\nSTAGGER_SEALED=required\n`, { mode: 0o600 });
  try {
    console.log(`worker: http://127.0.0.1:${PORT} (plain http for the tenant demo)`);
    await wrangler(["dev", "--ip", "127.0.0.1", "--port", String(PORT), "--inspector-port", "0", "--persist-to", `${STATE}/kv`,
      "--env-file", variables, "--show-interactive-dev-session=false"], undefined, withoutURLs);
  } finally {
    rmSync(variables, { force: true });
    rmSync(`${STATE}/logs`, { recursive: true, force: true });
  }
}

// Wrangler logs every request with its path, and the path holds the token.
function withoutURLs(line) {
  return !/^\[wrangler:info\] [A-Z]+ /.test(line);
}

async function deployCheck() {
  needCore();
  const folder = `${ROOT}/build/out/deploy`;
  rmSync(folder, { recursive: true, force: true });
  await wrangler(["deploy", "--dry-run", "--outdir", folder], 2 * MINUTE, () => false);
  let total = 0;
  for (const name of readdirSync(folder).sort()) {
    if (name === "README.md" || name.endsWith(".map")) continue; // stay here
    const content = readFileSync(`${folder}/${name}`);
    const packed = gzipSync(content, { level: 9 }).length;
    total += packed;
    console.log(`${name}\t${content.length} bytes\t${packed} bytes gzip`);
  }
  console.log(`total\t${total} bytes gzip`);
  if (total > UPLOAD_BYTES) throw new Error(`the upload exceeds ${UPLOAD_BYTES} bytes`);
}

function needCore() {
  if (!existsSync(`${ROOT}/build/out/edge.wasm`)) throw new Error("build/out/edge.wasm: no such file: build the core first");
}
