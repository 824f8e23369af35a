// edge/worker/wire.mjs against the vectors that edge/wire wrote (testdata/wire.json).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeNeed, decodeResponse, encodeRequest, MAX_INPUT } from "../edge/worker/wire.mjs";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

for (const vector of JSON.parse(readFileSync(new URL("../testdata/wire.json", import.meta.url), "utf8"))) {
  test(vector.name, () => {
    if (vector.request) {
      const { documents, keys, ...request } = vector.request;
      const encoded = encodeRequest({ ...request, keys: keys.map(bytes) },
        documents.map(([key, state, value]) => ({ key, state, value })));
      assert.equal(hex(encoded), vector.hex);
    } else if (vector.response) {
      const { body, ...rest } = decodeResponse(bytes(vector.hex));
      assert.deepEqual({ ...rest, body: hex(body) }, vector.response);
    } else if (vector.need) {
      assert.deepEqual(decodeNeed(bytes(vector.hex)), vector.need);
    } else {
      assert.fail("a vector of no known kind");
    }
    if (vector.request) return;
    const decode = vector.response ? decodeResponse : decodeNeed;
    for (let length = 0; length < vector.hex.length; length += 2) {
      assert.throws(() => decode(bytes(vector.hex.slice(0, length))), RangeError, `cut after ${length / 2} bytes`);
    }
    assert.throws(() => decode(bytes(vector.hex + "00")), /bytes after the last field/);
  });
}

// By hand, from the description in edge/wire/wire.go.

test("a request by hand", () => {
  const request = {
    flags: 1, now: 2 ** 32 + 7, method: "GET", target: "/é",
    facts: [["a", Uint8Array.of(0xff, 0)]], keys: [Uint8Array.of(1, 2)],
  };
  const documents = [{ key: "k", state: 1, value: "" }, { key: "l", state: 0, value: Uint8Array.of(3, 4).buffer }];
  assert.equal(hex(encodeRequest(request, documents)), [
    "01000000", "0700000001000000", "03000000474554", "030000002fc3a9",
    "01000000", "0100000061", "02000000ff00",
    "01000000", "020000000102",
    "02000000", "010000006b", "01000000", "00000000", "010000006c", "00000000", "020000000304",
  ].join(""));
});

test("a request is bounded", () => {
  const request = { flags: 0, now: 0, method: "", target: "", facts: [], keys: [] };
  const length = (value) => encodeRequest(request, [{ key: "", state: 0, value }]).length;
  const room = MAX_INPUT - length("");
  for (const value of ["x".repeat(room), new Uint8Array(room), new ArrayBuffer(room), "x".repeat(room - 2) + "é"]) {
    assert.equal(length(value), MAX_INPUT);
  }
  for (const value of ["x".repeat(room + 1), "é".repeat(MAX_INPUT / 2), "x".repeat(room - 1) + "é", new Uint8Array(room + 1), new ArrayBuffer(room + 1)]) {
    assert.throws(() => length(value), /request of more than 655360 bytes/);
  }
  assert.equal(length("é"), length("") + 2);
});

test("a count or a length that cannot be true", () => {
  assert.throws(() => decodeNeed(bytes("ffffffff")), RangeError);
  assert.throws(() => decodeNeed(bytes("01000000ffffffff61")), RangeError);
  assert.throws(() => decodeNeed(bytes("0100000001000000ff")), TypeError); // not UTF-8
  assert.deepEqual(decodeNeed(bytes("0100000003000000efbbbf")), ["\ufeff"]);
});

test("texts beyond ASCII between others", () => {
  const u32 = (v) => [v & 255, v >> 8, 0, 0];
  for (const keys of [["a", "é", "z"], ["\ufeff", "a", "日本 🎧", ""], ["x".repeat(200), "\u0000\u007f", "\u0080", "y".repeat(300)]]) {
    const encoded = keys.map((key) => Buffer.from(key)).flatMap((key) => [...u32(key.length), ...key]);
    assert.deepEqual(decodeNeed(Uint8Array.from([...u32(keys.length), ...encoded])), keys);
  }
  assert.throws(() => decodeNeed(bytes("02000000" + "0100000061" + "02000000c3ff")), TypeError);
});

test("an answer that is a part of a larger memory", () => {
  const memory = bytes("ffff0100000001000000" + "61ff");
  assert.deepEqual(decodeNeed(memory.subarray(2, 11)), ["a"]);
});
