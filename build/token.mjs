// The URLs of phones, for the tests and the benchmark: a second implementation of
// edge/provision/token.go, on Node's own HMAC.

import { createHash, createHmac } from "node:crypto";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** The token of a device under a master key in hexadecimal. */
export function token(masterKey, tenant, mac, generation = 0) {
  const master = Buffer.from(masterKey, "hex");
  const id = createHash("sha256").update("stagger key v1\0").update(master).digest()[0] >> 3;
  const key = createHmac("sha256", master).update(`stagger tenant v1\0${tenant}`).digest();
  const message = Buffer.concat([Buffer.from(`stagger token v1\0${tenant}\0${mac}\0`), Buffer.of(generation >> 8, generation & 255)]);
  const sum = createHmac("sha256", key).update(message).digest();
  let digits = ALPHABET[id] + [10, 5, 0].map((shift) => ALPHABET[(generation >> shift) & 31]).join("");
  const bits = [...sum.subarray(0, 17)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  for (let i = 0; i < 130; i += 5) digits += ALPHABET[parseInt(bits.slice(i, i + 5), 2)];
  return digits;
}

/** The target of a phone's request for a file of its own: suffix follows the MAC. */
export const target = (masterKey, { tenant, device, generation = 0 }, suffix = ".cfg") =>
  `/${tenant}/${token(masterKey, tenant, device, generation)}/${device}${suffix}`;
