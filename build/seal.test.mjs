// edge/worker/seal.mjs against the vectors that host/seal wrote (testdata/seal.json).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Seal } from "../edge/worker/seal.mjs";

const bytes = (text) => Uint8Array.from(Buffer.from(text)).buffer;

for (const { name, masters, required = false, key, text, document, error } of JSON.parse(readFileSync(new URL("../testdata/seal.json", import.meta.url), "utf8"))) {
  test(name, async () => {
    const seal = new Seal(masters.map((hex) => Uint8Array.from(Buffer.from(hex, "hex"))), required);
    for (let round = 0; round < 2; round++) {
      if (error) await assert.rejects(seal.open(key, bytes(text)), (thrown) => thrown.message === error);
      else assert.equal(Buffer.from(await seal.open(key, bytes(text))).toString(), document);
    }
  });
}

test("more tenants than are kept", async () => {
  const master = Uint8Array.from(Buffer.from("63".repeat(32), "hex"));
  const seal = new Seal([master], false);
  const sealed = JSON.parse(readFileSync(new URL("../testdata/seal.json", import.meta.url), "utf8"))[0];
  for (let n = 0; n < 1500; n++) await assert.rejects(seal.open(`tenant:t${n}`, bytes(sealed.text)));
  assert.equal(Buffer.from(await seal.open(sealed.key, bytes(sealed.text))).toString(), sealed.document);
});
