// A core that is played: a small guest of ABI v1 that shows the tests of the shim
// what the shim handed to the core, and answers in ways that the core would not.

import binaryen from "binaryen";

const u32 = (v) => [v & 255, (v >> 8) & 255, (v >> 16) & 255, v >>> 24];
const bytes = (s) => [...u32(s.length), ...Buffer.from(s)];
const list = (items, encode) => [...u32(items.length), ...items.flatMap(encode)];
const pairs = (items) => list(items, ([name, value]) => [...bytes(name), ...bytes(value)]);
const response = (status, headers, audit) => [...u32(status), ...pairs(headers), ...bytes(""), ...pairs(audit)];

/** What it asks for first. */
export const NEEDS = ["tenant:t1", "device:t1:001565aabbcc"];

const DATA = {
  need: list(NEEDS, bytes),
  // The body of an echo is the request that the core was given, and zeros after it; its audit follows.
  echo: [...u32(200), ...pairs([["content-type", "application/octet-stream"], ["content-length", "4096"]]), ...u32(4096)],
  audit: pairs([["outcome", "echo"], ["mac", "001565aabbcc"]]),
  head: response(200, [["content-type", "text/plain; charset=utf-8"], ["content-length", "4096"]], [["outcome", "head"]]),
  put: response(405, [["allow", "GET, HEAD"], ["content-length", "0"]], [["outcome", "method"]]),
};

/** @returns {Uint8Array} the module: HEAD and PUT get an answer without a body, PATCH traps, POST never ends, everything else is echoed */
export function standIn() {
  let at = 65536;
  const place = {}, data = [];
  for (const [name, content] of Object.entries(DATA)) {
    place[name] = { at, length: content.length };
    data.push(`(data (i32.const ${at}) "${content.map((b) => "\\" + b.toString(16).padStart(2, "0")).join("")}")`);
    at += content.length;
  }
  const answer = ({ at, length }) => `
    (global.set $from (i32.const ${at})) (global.set $length (i32.const ${length}))`;
  const copy = ({ at, length }) => `
    (memory.copy (local.get $end) (i32.const ${at}) (i32.const ${length}))
    (local.set $end (i32.add (local.get $end) (i32.const ${length})))`;
  const IN = 0x20000, OUT = 0xe0000;
  // The method's first three letters tell them apart; they follow flags, now and its length.
  const method = (word) => `(i32.eq (i32.and (i32.load (i32.const ${IN + 16})) (i32.const 0xffffff)) (i32.const ${Buffer.from(word).readUIntLE(0, 3)}))`;
  const parsed = binaryen.parseText(`
(module
  (memory (export "memory") 32)
  ${data.join("\n  ")}
  (global $from (mut i32) (i32.const 0))
  (global $length (mut i32) (i32.const 0))
  (func (export "_initialize"))
  (func (export "stagger_abi_1"))
  (func (export "input") (param $n i32) (result i32) (i32.const ${IN}))
  (func (export "handle") (param $n i32) (result i32)
    (local $end i32) (local $last i32) (local $before i32)
    (if ${method("HEAD")} (then ${answer(place.head)} (return (i32.const 0))))
    (if ${method("PUT")} (then ${answer(place.put)} (return (i32.const 0))))
    (if ${method("PATCH")} (then (unreachable)))
    (if ${method("POST")} (then ${answer(place.need)} (return (i32.const 1))))
    ;; No documents: the last field is their count, 0, and not the empty value of one that is absent or failed.
    (local.set $last (i32.load (i32.add (local.get $n) (i32.const ${IN - 4}))))
    (local.set $before (i32.load (i32.add (local.get $n) (i32.const ${IN - 8}))))
    (if (i32.eqz (local.get $last)) (then
      (if (i32.or (i32.eqz (local.get $before)) (i32.gt_u (local.get $before) (i32.const 2)))
        (then ${answer(place.need)} (return (i32.const 1))))))
    (local.set $end (i32.const ${OUT}))
    ${copy(place.echo)}
    (memory.copy (local.get $end) (i32.const ${IN}) (i32.const 4096))
    (local.set $end (i32.add (local.get $end) (i32.const 4096)))
    ${copy(place.audit)}
    (global.set $from (i32.const ${OUT}))
    (global.set $length (i32.sub (local.get $end) (i32.const ${OUT})))
    (i32.const 0))
  (func (export "output_ptr") (result i32) (global.get $from))
  (func (export "output_len") (result i32) (global.get $length))
  (func (export "heap_top") (result i32) (i32.const 0)))`);
  parsed.setFeatures(binaryen.Features.All);
  return parsed.emitBinary();
}
