// The byte layout of ABI v1: the JavaScript twin of the Go package edge/wire,
// which explains it, and held to the same vectors (testdata/wire.json).
//
// A call into the platform's TextEncoder or TextDecoder costs as much as a
// hundred characters by hand, and most texts here are short and ASCII.

export const STATUS = { response: 0, need: 1, malformed: 2 };
export const STATE = { found: 0, absent: 1, failed: 2 };
export const FLAG_TLS = 1, MAX_INPUT = 640 * 1024, MAX_CALLS = 3;

const encoder = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
// One character a byte, and ASCII is ASCII.
const latin1 = new TextDecoder("latin1");

// Where requests are encoded, and how far that is. Nothing here awaits.
const scratch = new Uint8Array(MAX_INPUT);
let end = 0;

/**
 * Encodes a request. Where the layout says bytes, a string, a Uint8Array or an ArrayBuffer will do.
 * @returns {Uint8Array} good until the next request is encoded
 */
export function encodeRequest({ flags, now, method, target, facts, keys }, documents) {
  end = 0;
  putU32(flags), putU32(now % 2 ** 32), putU32(Math.floor(now / 2 ** 32)), putBytes(method), putBytes(target);
  putU32(facts.length);
  for (const [name, value] of facts) putBytes(name), putBytes(value);
  putU32(keys.length);
  for (const key of keys) putBytes(key);
  putU32(documents.length);
  for (const { key, state, value } of documents) putBytes(key), putU32(state), putBytes(value);
  return scratch.subarray(0, end);
}

function room(n) {
  if (end + n > MAX_INPUT) throw new RangeError(`wire: request of more than ${MAX_INPUT} bytes`);
  end += n;
  return end - n;
}

function setU32(at, v) {
  scratch[at] = v, scratch[at + 1] = v >>> 8, scratch[at + 2] = v >>> 16, scratch[at + 3] = v >>> 24;
}

function putU32(v) {
  setU32(room(4), v);
}

function putBytes(v) {
  const at = room(4);
  if (typeof v === "string") putText(v);
  else scratch.set(v instanceof ArrayBuffer ? new Uint8Array(v) : v, room(v.byteLength));
  setU32(at, end - at - 4);
}

function putText(s) {
  const start = room(s.length);
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c > 127) {
      const { read, written } = encoder.encodeInto(s, scratch.subarray(start));
      end = start;
      room(read < s.length ? Infinity : written);
      return;
    }
    scratch[start + i] = c;
  }
}

// The message that is being decoded, and how far that is.
let data, at;

/** Decodes a response: headers and audit are lists of [name, value]; body shares the memory of message. */
export const decodeResponse = (message) => decode(message, () =>
  ({ status: u32(), headers: pairs(), body: bytes(), audit: pairs() }));
/** Decodes a need: the keys of documents. */
export const decodeNeed = (message) => decode(message, () => texts(u32()));

function decode(message, fields) {
  data = message, at = 0;
  const decoded = fields();
  if (at !== data.length) throw new RangeError(`wire: bytes after the last field at offset ${at}`);
  return decoded;
}

function skip(n) {
  if (n > data.length - at) throw new RangeError(`wire: malformed message at offset ${at}`);
  at += n;
  return at - n;
}

function u32() {
  const i = skip(4);
  return (data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24)) >>> 0;
}

function bytes() {
  const n = u32();
  return data.subarray(skip(n), at);
}

function pairs() {
  const list = texts(u32() * 2), pairs = [];
  for (let i = 0; i < list.length; i += 2) pairs.push([list[i], list[i + 1]]);
  return pairs;
}

function texts(count) {
  const start = at;
  for (let i = 0; i < count; i++) skip(u32());
  const all = latin1.decode(data.subarray(start, at));
  at = start;
  const list = [];
  for (let i = 0; i < count; i++) {
    const n = u32(), from = skip(n);
    list.push(isASCII(from, at) ? all.slice(from - start, at - start) : utf8.decode(data.subarray(from, at)));
  }
  return list;
}

function isASCII(from, to) {
  let all = 0;
  for (let i = from; i < to; i++) all |= data[i];
  return all < 128;
}
