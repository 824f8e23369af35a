// Runs wrangler on this machine: without an account, the network or anybody to ask.
// All that it keeps is in build/out/worker.

import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
export const STATE = `${ROOT}/build/out/worker`;

// Wrangler asks nobody anything: no account, no update, no telemetry, no prompt
// (CI), and it keeps its logs, caches and settings to itself.
export const QUIET = {
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

/** Runs wrangler until it ends, or for this long, and shows the lines of its stdout that are wanted. */
export async function wrangler(parameters, milliseconds, wanted = () => true) {
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
