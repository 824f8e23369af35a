// Starts Workers in workerd (through miniflare) on loopback: for the conformance
// corpus, the tests and the benchmark. Nothing leaves the machine, nothing is kept.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Miniflare, NoOpLog } from "miniflare";

export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** The compiled core, unless a test brings its own. */
export const CORE = `${ROOT}/build/out/edge.wasm`;

/** The modules that make up the Worker, and the date it is deployed with. */
export const WORKER = ["edge/worker/worker.mjs", "edge/worker/cloudflare.mjs", "edge/worker/core.mjs", "edge/worker/seal.mjs", "edge/worker/wire.mjs", "edge/worker/telemetry.mjs"];
const CONFIGURATION = readFileSync(`${ROOT}/wrangler.toml`, "utf8");
const COMPATIBILITY_DATE = /^compatibility_date = "(.*)"$/m.exec(CONFIGURATION)[1];
const NAMESPACE = /\{ binding = "FLEET", id = "(.*)" \}/.exec(CONFIGURATION)[1];

/**
 * @param {{name: string, modules: (string | {path, contents})[], core?: Uint8Array, bindings?: object, kv?: boolean, dataset?: boolean}[]} workers
 *   modules: paths below the root, the entry first; core: the bytes of build/out/edge.wasm;
 *   kv: false leaves the binding FLEET out. All share one KV namespace.
 *   dataset: binds TELEMETRY to a dataset of Analytics Engine, which forgets here what it is told.
 * @param {(line: string, stream: "stdout" | "stderr") => void} onLog what Workers log
 * @param {string} [state] where wrangler keeps a local KV; without it the KV is empty and goes with the Workers
 * @returns {Promise<{ports: Object<string, number>, fleet: () => Promise<KVNamespace>, stop: () => Promise<void>}>}
 *   ports: where each Worker listens. A request there takes the absolute form
 *   (GET https://host/path), whose scheme and target reach the Worker unchanged, as they do on the platform.
 */
export async function startWorkers(workers, onLog = () => {}, state) {
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false, // or it asks a server for an example
    log: new NoOpLog(),
    telemetry: { enabled: false },
    kvPersist: state && `${state}/v3/kv`,
    handleRuntimeStdio: (stdout, stderr) => {
      byLine(stdout, (line) => onLog(line, "stdout"));
      byLine(stderr, (line) => onLog(line, "stderr"));
    },
    workers: workers.map(({ name, modules, core, bindings = {}, kv = true, dataset = false }) => ({
      name,
      modulesRoot: ROOT,
      modules: [
        ...modules.map((module) => ({ type: "ESModule", path: `${ROOT}/${module.path ?? module}`, contents: module.contents })),
        ...(core ? [{ type: "CompiledWasm", path: CORE, contents: core }] : []),
      ],
      compatibilityDate: COMPATIBILITY_DATE,
      bindings,
      kvNamespaces: kv ? { FLEET: state ? NAMESPACE : "fleet" } : {},
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0, proxy: true }],
    })),
  });
  try {
    await miniflare.ready;
    const release = guardRuntimes();
    const ports = {};
    for (const { name } of workers) ports[name] = Number((await miniflare.unsafeGetDirectURL(name)).port);
    return {
      ports,
      fleet: () => miniflare.getKVNamespace("FLEET", workers.find(({ kv = true }) => kv).name),
      stop: async () => {
        await miniflare.dispose();
        release();
      },
    };
  } catch (error) {
    await miniflare.dispose();
    throw error;
  }
}

/** Has somebody end workerd should this process be killed, which leaves it no time to. Linux only: it needs /proc. */
function guardRuntimes() {
  let pids;
  try {
    pids = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ")
      .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0].endsWith("/workerd"));
  } catch {
    return () => {};
  }
  // The pipe ends when this process does, however it ends.
  const guard = spawn("sh", ["-c", 'read -r _; kill -9 "$@"', "guard", ...pids], { stdio: ["pipe", "ignore", "ignore"] });
  guard.on("error", () => {});
  guard.unref();
  guard.stdin.unref();
  return () => guard.kill("SIGKILL");
}

function byLine(stream, onLine) {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    lines.forEach((line) => onLine(line));
  });
}
