// The Worker on this machine, without an account and without the network:
//
//   node build/worker.mjs dev FLEET      serves the fleet at http://127.0.0.1:8787 until it is interrupted
//   node build/worker.mjs deploy-check   builds what `wrangler deploy` would upload, and tells its size
//   node build/worker.mjs bulk FLEET     only writes the files for `wrangler kv bulk put`
//
// FLEET is a fleet file, as `stagger serve` takes it. The master key comes from the
// environment, STAGGER_MASTER_KEY. All state is in build/out.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { documents } from "./fleet.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const STATE = `${ROOT}/build/out/worker`;
const PORT = 8787;
const MINUTE = 60_000;
// The most that `wrangler kv bulk put` takes in one file.
const PAIRS = 10_000;
// What the free plan takes, compressed.
const UPLOAD_BYTES = 3 * 1024 * 1024;

// Wrangler asks nobody anything: no account, no update, no telemetry, no prompt
// (CI), and it keeps its logs, caches and settings to itself.
const QUIET = {
  CI: "true",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_LOG_PATH: `${STATE}/logs`,
  WRANGLER_CACHE_DIR: `${STATE}/cache`,
  WRANGLER_REGISTRY_PATH: `${STATE}/registry`,
  XDG_CONFIG_HOME: `${STATE}/config`,
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

const [command, fleet] = process.argv.slice(2);
try {
  if (command === "dev" && fleet) await dev(fleet);
  else if (command === "bulk" && fleet) for (const file of await bulkFiles(fleet)) console.log(file);
  else if (command === "deploy-check") await deployCheck();
  else throw new Error("usage: node build/worker.mjs dev FLEET | bulk FLEET | deploy-check");
} catch (error) {
  console.error(`worker: ${error.message}`);
  process.exitCode = 1;
}

async function dev(fleet) {
  const key = process.env.STAGGER_MASTER_KEY;
  if (!key) throw new Error("STAGGER_MASTER_KEY is not set (make one: openssl rand -hex 32)");
  needCore();
  rmSync(`${STATE}/kv`, { recursive: true, force: true });
  for (const file of await bulkFiles(fleet)) {
    await wrangler(["kv", "bulk", "put", file, "--binding", "FLEET", "--local", "--persist-to", `${STATE}/kv`], 5 * MINUTE, () => false);
  }
  rmSync(`${STATE}/bulk`, { recursive: true });
  // In a file, because arguments can be seen by everybody on the machine.
  const variables = `${STATE}/variables`;
  writeFileSync(variables, `STAGGER_MASTER_KEY=${key}\nSTAGGER_PLAIN_HTTP=demo\n`, { mode: 0o600 });
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

/** Writes the fleet in the format of `wrangler kv bulk put` and returns the files' paths. */
async function bulkFiles(fleet) {
  if (!existsSync(fleet)) throw new Error(`${fleet}: no such file`);
  const folder = `${STATE}/bulk`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = [];
  let pairs = [];
  const flush = () => {
    if (pairs.length === 0) return;
    files.push(`${folder}/${String(files.length + 1).padStart(4, "0")}.json`);
    writeFileSync(files.at(-1), `[\n${pairs.join(",\n")}\n]\n`, { mode: 0o600 });
    pairs = [];
  };
  for await (const { key, value } of documents(fleet)) {
    pairs.push(JSON.stringify({ key, value }));
    if (pairs.length === PAIRS) flush();
  }
  flush();
  if (files.length === 0) throw new Error(`${fleet}: holds no documents`);
  return files;
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

/** Runs wrangler until it ends, or for this long, and shows the lines of its stdout that are wanted. */
async function wrangler(parameters, milliseconds, wanted = () => true) {
  mkdirSync(STATE, { recursive: true });
  // Without stdin there is nobody to ask.
  const child = spawn(process.execPath, [`${ROOT}/build/node_modules/wrangler/bin/wrangler.js`, ...parameters],
    { cwd: ROOT, env: { ...process.env, ...QUIET }, stdio: ["ignore", "pipe", "inherit"] });
  createInterface({ input: child.stdout }).on("line", (line) => wanted(line) && console.log(line));
  let stopped = false;
  const stop = () => {
    stopped = true;
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 5_000).unref();
  };
  const timer = milliseconds && setTimeout(stop, milliseconds);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);
  const status = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  clearTimeout(timer);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(signal, stop);
  // Its bundler's folder, in a place that cannot be chosen.
  rmSync(`${ROOT}/.wrangler`, { recursive: true, force: true });
  if (stopped && milliseconds) throw new Error(`wrangler ${parameters[0]}: ended before it was done`);
  if (!stopped && status !== 0) throw new Error(`wrangler ${parameters[0]}: status ${status}`);
}
