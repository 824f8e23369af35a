// Reads a fleet file, JSON Lines with a tenant or a device each, as the documents
// that the core asks for: the key is made of the line, the value is the line.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** @yields {{key: string, value: string}} errors name file and line, never what is on it: lines hold passwords */
export async function* documents(path) {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    number++;
    if (line.trim() === "") continue;
    let document;
    try {
      document = JSON.parse(line);
    } catch {
      throw new Error(`${path}:${number}: not JSON`);
    }
    const { tenant, device } = document ?? {};
    if (typeof tenant !== "string") throw new Error(`${path}:${number}: tenant is missing`);
    if (device !== undefined && typeof device !== "string") throw new Error(`${path}:${number}: device is not a MAC address`);
    yield { key: device === undefined ? `tenant:${tenant}` : `device:${tenant}:${device}`, value: line.trim() };
  }
}
