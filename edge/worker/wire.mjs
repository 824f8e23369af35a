// The byte layout of ABI v1: the JavaScript twin of the Go package edge/wire,
// which explains it, and held to the same vectors (testdata/wire.json).

export const STATUS = { response: 0, need: 1, malformed: 2 };
export const STATE = { found: 0, absent: 1, failed: 2 };
export const FLAG_TLS = 1, MAX_INPUT = 640 * 1024, MAX_CALLS = 3;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
// Requests are encoded here first: a length is known only at the end.
const scratch = new Uint8Array(MAX_INPUT), scratchView = new DataView(scratch.buffer);

/** Encodes a request. Where the layout says bytes, a string or a Uint8Array will do. */
export function encodeRequest({ flags, now, method, target, facts, keys, documents }) {
  let end = 0;
  const room = (n) => {
    if (end + n > MAX_INPUT) throw new RangeError(`wire: request of more than ${MAX_INPUT} bytes`);
    return (end += n) - n;
  };
  const u32 = (v) => scratchView.setUint32(room(4), v, true);
  const bytes = (v) => {
    const at = room(4);
    if (typeof v !== "string") scratch.set(v, room(v.length));
    else {
      const { read, written } = encoder.encodeInto(v, scratch.subarray(end));
      room(read < v.length ? Infinity : written);
    }
    scratchView.setUint32(at, end - at - 4, true);
  };
  const list = (items, encode) => { u32(items.length); for (const item of items) encode(item); };
  u32(flags), u32(now % 2 ** 32), u32(Math.floor(now / 2 ** 32)), bytes(method), bytes(target);
  list(facts, ([name, value]) => { bytes(name), bytes(value); });
  list(keys, bytes);
  list(documents, ({ key, state, value }) => { bytes(key), u32(state), bytes(value); });
  return scratch.slice(0, end);
}

function decode(data, message) {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  let at = 0;
  const skip = (n) => {
    if (n > data.length - at) throw new RangeError(`wire: malformed message at offset ${at}`);
    return (at += n) - n;
  };
  const u32 = () => view.getUint32(skip(4), true);
  const bytes = () => { const n = u32(); return data.subarray(skip(n), at); };
  const text = () => decoder.decode(bytes());
  const list = (item) => { const items = []; for (let n = u32(); n > 0; n--) items.push(item()); return items; };
  const decoded = message({ u32, bytes, text, list, pair: () => [text(), text()] });
  if (at !== data.length) throw new RangeError(`wire: bytes after the last field at offset ${at}`);
  return decoded;
}

/** Decodes a response: headers and audit are lists of [name, value]; body shares the memory of data. */
export const decodeResponse = (data) => decode(data, ({ u32, bytes, list, pair }) =>
  ({ status: u32(), headers: list(pair), body: bytes(), audit: list(pair) }));
/** Decodes a need: the keys of documents. */
export const decodeNeed = (data) => decode(data, ({ text, list }) => list(text));
