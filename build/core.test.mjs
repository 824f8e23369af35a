// edge/worker/core.mjs with guests that misbehave, and the conversation with a core that is played.

import assert from "node:assert/strict";
import { test } from "node:test";
import binaryen from "binaryen";
import { answer, Core, failure } from "../edge/worker/core.mjs";
import { decodeNeed, encodeRequest, MAX_CALLS, MAX_INPUT, STATE, STATUS } from "../edge/worker/wire.mjs";

const guest = (text) => {
  const parsed = binaryen.parseText(text);
  parsed.setFeatures(binaryen.Features.All);
  return new WebAssembly.Module(parsed.emitBinary());
};

// A guest whose first byte of the request says what it does. Memory: two pages;
// something lies at 30000 and nothing after it, the heap pointer at 65536, a counter
// at 65540, and the heap begins at 65600.
const GUEST = `
(module
  (memory (export "memory") 2)
  (data (i32.const 30000) "below")
  (data (i32.const 65536) "\\40\\00\\01\\00")
  (data (i32.const 65560) "constant")
  (global $calls (mut i32) (i32.const 0))
  (global $length (mut i32) (i32.const 0))
  (func (export "_initialize"))
  (func (export "stagger_abi_1"))
  (func (export "input") (param $n i32) (result i32)
    (local $at i32)
    (if (i32.gt_u (local.get $n) (i32.const 4096)) (then (return (i32.const 0))))
    (local.set $at (i32.load (i32.const 65536)))
    (i32.store (i32.const 65536) (i32.add (local.get $at) (local.get $n)))
    (local.get $at))
  ;; Output: calls of this instance (a global), calls as the memory has it, sum of all bytes of the memory.
  (func (export "handle") (param $n i32) (result i32)
    (local $i i32) (local $sum i32) (local $what i32)
    (local.set $what (i32.load8_u (i32.const 65600)))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (global.set $length (i32.const 12))
    (i32.store (i32.const 65540) (i32.add (i32.load (i32.const 65540)) (i32.const 1)))
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 131072))))
    ;; Something secret at the bottom of the stack, over the constants, between them, and on the heap.
    (i32.store (i32.const 16) (i32.const 0x41414141))
    (i32.store (i32.const 30000) (i32.const 0x41414141))
    (i32.store (i32.const 50000) (i32.const 0x41414141))
    (i32.store (i32.const 65560) (i32.const 0x41414141))
    (i32.store (i32.const 80000) (i32.const 0x41414141))
    (i32.store (i32.const 65536) (i32.const 80004))
    (if (i32.eq (local.get $what) (i32.const 1)) (then (unreachable)))
    (if (i32.eq (local.get $what) (i32.const 2)) (then (drop (memory.grow (i32.const 1)))))
    (if (i32.eq (local.get $what) (i32.const 3)) (then (return (i32.const 9))))
    (if (i32.eq (local.get $what) (i32.const 4)) (then (global.set $length (i32.const -1))))
    (if (i32.eq (local.get $what) (i32.const 5)) (then (i32.store (i32.const 65536) (i32.const 16))))
    (if (i32.eq (local.get $what) (i32.const 6)) (then (return (i32.const -1))))
    (i32.store (i32.const 65544) (global.get $calls))
    (i32.store (i32.const 65548) (i32.load (i32.const 65540)))
    (i32.store (i32.const 65552) (local.get $sum))
    (i32.const 0))
  (func (export "output_ptr") (result i32) (i32.const 65544))
  (func (export "output_len") (result i32) (global.get $length))
  (func (export "heap_top") (result i32) HEAP_TOP))`;
const TELLS = GUEST.replace("HEAP_TOP", "(i32.load (i32.const 65536))");
const CANNOT_TELL = GUEST.replace("HEAP_TOP", "(i32.const 0)");

const FINE = 0, TRAP = 1, GROW = 2, STATUS_9 = 3, OUTPUT = 4, HEAP = 5, STATUS_MINUS_1 = 6;
const ask = (core, what) => {
  const { output } = core.call(Uint8Array.of(what, 0x42, 0x42));
  const [calls, remembered, sum] = new Uint32Array(output.buffer);
  return { calls, remembered, sum };
};

for (const [name, text] of [["a guest that tells its heap's end", TELLS], ["a guest that cannot tell", CANNOT_TELL]]) {
  test(`${name}: nothing of a call is left for the next`, () => {
    const core = new Core(guest(text));
    const first = ask(core, FINE);
    assert.deepEqual([first.calls, first.remembered], [1, 1]);
    for (let i = 2; i < 1000; i++) {
      // The global goes on counting, so it is one instance; the memory is as in the first call.
      assert.deepEqual(ask(core, FINE), { calls: i, remembered: 1, sum: first.sum });
    }
  });

  for (const [what, how, error] of [
    ["traps", TRAP, { cause: "trap", message: /^core: handle trapped: unreachable$/ }],
    ["answers status 9", STATUS_9, { cause: "status", message: "core: unknown status 9" }],
    ["answers status -1", STATUS_MINUS_1, { cause: "status", message: "core: unknown status 4294967295" }],
    ["puts its output outside the memory", OUTPUT, { cause: "output" }],
  ]) {
    test(`${name}: an instance that ${what} is not used again`, () => {
      const core = new Core(guest(text));
      const first = ask(core, FINE);
      assert.throws(() => ask(core, how), error);
      assert.deepEqual(ask(core, FINE), first);
      assert.equal(ask(core, FINE).calls, 2);
    });
  }

  test(`${name}: an instance that grows answers once more and is not used again`, () => {
    const core = new Core(guest(text));
    const first = ask(core, FINE);
    assert.equal(ask(core, GROW).calls, 2);
    assert.deepEqual(ask(core, FINE), first);
  });

  test(`${name}: a request that it has no room for`, () => {
    const core = new Core(guest(text));
    assert.throws(() => core.call(new Uint8Array(4097)), { cause: "input", message: "core: no room for a request of 4097 bytes" });
    assert.equal(ask(core, FINE).remembered, 1);
  });
}

test("an instance whose heap ends below where it began is not used again", () => {
  const core = new Core(guest(TELLS));
  const first = ask(core, FINE);
  assert.equal(ask(core, HEAP).calls, 2);
  assert.deepEqual(ask(core, FINE), first);
});

test("output is a copy", () => {
  const core = new Core(guest(TELLS));
  const { output } = core.call(Uint8Array.of(FINE));
  const before = output.slice();
  core.call(Uint8Array.of(FINE));
  assert.deepEqual(output, before);
});

test("a module that is not ABI v1 fails where it is loaded", () => {
  const broken = (from, to) => () => new Core(guest(TELLS.replace(from, to)));
  assert.throws(broken("(module", '(module (import "env" "now" (func))'), /module imports env\.now; it must import nothing/);
  assert.throws(broken('"stagger_abi_1"', '"stagger_abi_2"'), /exports no function stagger_abi_1: not ABI v1/);
  assert.throws(broken('(memory (export "memory") 2)', "(memory 2)"), /exports no memory memory/);
  assert.throws(broken('(func (export "stagger_abi_1"))', '(global (export "stagger_abi_1") i32 (i32.const 1))'), /exports no function stagger_abi_1/);
  assert.throws(broken('(func (export "stagger_abi_1"))', '(func (export "stagger_abi_1") (param i32))'), /stagger_abi_1 takes 1 parameters, not 0/);
  assert.throws(broken('(func (export "_initialize"))', '(func (export "_initialize") (unreachable))'), /unreachable/);
});

// The conversation.

const u32 = (v) => [v & 255, (v >> 8) & 255, (v >> 16) & 255, v >>> 24];
const text = (s) => [...u32(s.length), ...Buffer.from(s)];
const need = (...keys) => ({ status: STATUS.need, output: Uint8Array.from([...u32(keys.length), ...keys.flatMap(text)]) });
const responds = (status, headers, body) => ({
  status: STATUS.response,
  output: Uint8Array.from([...u32(status), ...u32(headers.length), ...headers.flatMap(([n, v]) => [...text(n), ...text(v)]), ...text(body), ...u32(0)]),
});
const response = responds(200, [["content-length", "4"]], "body");
const request = { flags: 1, now: 2 ** 32 + 5, method: "GET", target: "/", facts: [], keys: [] };

/** A core that gives these answers in turn, and keeps what it was asked. */
function played(...answers) {
  const asked = [];
  return { asked, call: (bytes) => { asked.push(bytes.slice()); return answers.shift(); } };
}

test("documents are fetched at the same time and handed over with their states", async () => {
  const core = played(need("a", "b"), need("c"), response);
  let running = 0, most = 0;
  const { status, body } = await answer(core, request, async (key) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    if (key === "b") return null;
    if (key === "c") throw new Error("the store is away");
    return "value of a";
  });
  assert.equal(status, 200);
  assert.equal(Buffer.from(body).toString(), "body");
  assert.equal(most, 2);
  const first = [{ key: "a", state: STATE.found, value: "value of a" }, { key: "b", state: STATE.absent, value: "" }];
  const calls = [[], first, [...first, { key: "c", state: STATE.failed, value: "" }]];
  assert.deepEqual(core.asked, calls.map((documents) => encodeRequest(request, documents).slice()));
});

async function assertFails(cause, core, method = "GET", fetchDocument = async () => "") {
  const { error, audit, ...rest } = await answer(core, { ...request, method }, fetchDocument);
  const { error: _, audit: __, ...expected } = failure(new Error());
  assert.deepEqual(rest, expected);
  assert.deepEqual(audit, { outcome: "failed", cause });
  assert.equal(error.cause, cause);
}

test("a core that never answers is asked three times", async () => {
  const core = played(need("a"), need("b"), need("c"), response);
  await assertFails("calls", core);
  assert.equal(core.asked.length, MAX_CALLS);
});

test("a core that asks for nothing, too much, or the same again", async () => {
  await assertFails("need", played(need()));
  await assertFails("need", played(need("a", "a")));
  await assertFails("need", played(need("a"), need("b", "a")));
  await assertFails("need", played(need(..."abcdefghi")));
  assert.equal((await answer(played(need(..."abcdefgh"), response), request, async () => "")).status, 200);
});

test("a request that it cannot read, an answer that cannot be read", async () => {
  await assertFails("malformed", played({ status: STATUS.malformed, output: Buffer.from("malformed message: flags at offset 0") }));
  await assertFails("unread", played({ status: STATUS.response, output: new Uint8Array(3) }));
  await assertFails("unread", played({ status: STATUS.need, output: Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0, 0xff) }));
});

test("an answer that HTTP cannot carry as it is", async () => {
  for (const bad of [
    responds(0, [["content-length", "0"]], ""), responds(600, [["content-length", "0"]], ""), responds(199, [["content-length", "0"]], ""),
    responds(200, [], "body"), responds(200, [["content-length", "5"]], "body"), responds(200, [["a", "b"], ["content-length", "4"], ["a", "b"]], "body"),
  ]) await assertFails("response", played(bad));
  await assertFails("response", played(response), "HEAD");
  await assertFails("response", played(responds(200, [], "")), "HEAD");
  assert.equal((await answer(played(responds(200, [["content-length", "4"]], "")), { ...request, method: "HEAD" })).status, 200);
});

test("a document that the core could never take is refused before the core sees it", async () => {
  const core = played(need("a"), response);
  await assertFails("too-large", core, "GET", async () => "x".repeat(MAX_INPUT));
  assert.equal(core.asked.length, 1);
});

test("the failure is complete", () => {
  const { status, headers, body } = failure(new Error());
  assert.equal(status, 500);
  assert.equal(headers["content-length"], String(body.length));
});

test("a need of odd keys survives", () => {
  assert.deepEqual(decodeNeed(need("", "device:t1:001565aabbcc").output), ["", "device:t1:001565aabbcc"]);
});
