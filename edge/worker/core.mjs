// The core as seen from JavaScript: an instance of the module, its snapshot, a
// call, and the conversation that answers one request. It must never know who
// runs it: no platform names, no clock, no store, no I/O of its own.

import { decodeNeed, decodeResponse, encodeRequest, MAX_CALLS, STATE, STATUS } from "./wire.mjs";

// Exported functions and how many parameters they take. JavaScript cannot see
// the types; a wrong one makes nonsense of the first call, which is then refused.
const FUNCTIONS = {
  _initialize: 0, stagger_abi_1: 0, input: 1, handle: 1, output_ptr: 0, output_len: 0, heap_top: 0,
};

// The snapshot tells zeros from other bytes in blocks of this size.
const BLOCK = 4096;
const ZEROS = "\0".repeat(BLOCK);
const latin1 = new TextDecoder("latin1");

// The most that a request may need; none of ABI v1 comes near it.
const MAX_DOCUMENTS = 8;

// Why the core could not answer: one of the words that the Go host has for it
// (host/engine, host/exchange). It goes into the audit record, so it may hold
// nothing of a request.
const fault = (cause, text) => new Error(`core: ${text}`, { cause });

/** A module of ABI v1 and, most of the time, one instance of it. */
export class Core {
  #module;
  #snapshot;
  #instance;

  /**
   * Checks the module and makes the first instance, so that a bad module fails where it is loaded.
   * @param {WebAssembly.Module} module
   */
  constructor(module) {
    const imported = WebAssembly.Module.imports(module).map(({ module, name }) => `${module}.${name}`);
    if (imported.length > 0) throw new Error(`core: module imports ${imported.join(", ")}; it must import nothing`);
    const kinds = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]));
    for (const [name, kind] of [["memory", "memory"], ...Object.keys(FUNCTIONS).map((name) => [name, "function"])]) {
      if (kinds.get(name) !== kind) throw new Error(`core: module exports no ${kind} ${name}: not ABI v1`);
    }
    this.#module = module;
    this.#instance = new Instance(module);
    // With no imports every instance is in the same state after _initialize.
    this.#snapshot = new Snapshot(this.#instance);
  }

  /**
   * Hands one encoded request to the core. There is no await in here: whatever else
   * goes on in the isolate cannot see the instance between input and restore.
   * @param {Uint8Array} request
   * @returns {{status: number, output: Uint8Array}} output is a copy
   * @throws when the instance trapped or does not keep to the ABI
   */
  call(request) {
    const instance = this.#instance ?? this.#another();
    // After a trap the globals, which no snapshot holds, are anyone's guess: only
    // an instance that came back whole is used again.
    this.#instance = undefined;
    const answer = instance.call(request);
    if (this.#snapshot.restore(instance)) this.#instance = instance;
    return answer;
  }

  #another() {
    const instance = new Instance(this.#module);
    // The first one has been asked for its top, which may move it.
    this.#snapshot.restore(instance);
    return instance;
  }
}

class Instance {
  #exports;

  constructor(module) {
    const { exports } = new WebAssembly.Instance(module, {});
    for (const [name, parameters] of Object.entries(FUNCTIONS)) {
      const { length } = exports[name];
      if (length !== parameters) throw new Error(`core: ${name} takes ${length} parameters, not ${parameters}: not ABI v1`);
    }
    exports._initialize();
    this.#exports = exports;
    /** All of the memory; empty once the memory has grown. */
    this.memory = new Uint8Array(exports.memory.buffer);
  }

  /** End of the memory that has been used. A guest that cannot tell has used all. */
  get top() {
    return this.#run("heap_top") || this.memory.length;
  }

  call(request) {
    const at = this.#run("input", request.length);
    // Looked up each time: the memory may have grown.
    let memory = this.#whole();
    if (at === 0 || at + request.length > memory.length) throw fault("input", `no room for a request of ${request.length} bytes`);
    memory.set(request, at);
    const status = this.#run("handle", request.length);
    if (status > STATUS.malformed) throw fault("status", `unknown status ${status}`);
    const from = this.#run("output_ptr"), to = from + this.#run("output_len");
    memory = this.#whole();
    if (to > memory.length) throw fault("output", "output lies outside the memory");
    return { status, output: memory.slice(from, to) };
  }

  #whole() {
    return this.memory.length > 0 ? this.memory : new Uint8Array(this.#exports.memory.buffer);
  }

  // An i32 is signed in JavaScript.
  #run(name, parameter) {
    try {
      return this.#exports[name](parameter) >>> 0;
    } catch (error) {
      throw fault("trap", `${name} trapped: ${error.message}`);
    }
  }
}

// The memory as it is after _initialize: images of the blocks that are not zero,
// and zeros. Zeros are cheaper to write than to copy, and there are many: the stack
// and the core's buffers.
class Snapshot {
  #top;
  #images = [];

  constructor({ memory, top }) {
    this.#top = top;
    for (let at = 0; at < top; at += BLOCK) {
      const from = at;
      while (at < top && !isZero(memory.subarray(at, at + BLOCK))) at += BLOCK;
      if (at > from) this.#images.push({ from, bytes: memory.slice(from, at) });
    }
  }

  /**
   * Puts back what was touched, which is what lies below the top: 7 us in V8 for
   * 64 KiB of stack and 160 of data and heap, where all of 4 MiB would take 400.
   * @returns {boolean} false when the instance is not worth keeping
   */
  restore(instance) {
    const { memory } = instance;
    if (memory.length === 0) return false; // It grew, and cannot shrink.
    const top = instance.top; // Asked before the answer, which is in the memory, is put back.
    if (top < this.#top || top > memory.length) return false;
    let at = 0;
    for (const { from, bytes } of this.#images) {
      memory.fill(0, at, from);
      memory.set(bytes, from);
      at = from + bytes.length;
    }
    memory.fill(0, at, top);
    return true;
  }
}

// A loop over the bytes would take a new isolate, which interprets it, ten times as long.
function isZero(block) {
  return latin1.decode(block) === ZEROS;
}

/**
 * Answers one request: asks the core, fetches what it needs, asks again.
 * @param {Core} core
 * @param request what wire.mjs encodes, without documents
 * @param {(key: string) => Promise<string | Uint8Array | ArrayBuffer | null>} fetchDocument
 *   null: the store has no such document; throws: the store could not tell
 * @returns {Promise<{status, headers, body, audit}>} headers and audit are objects;
 *   failure() when the core could not answer; error then says why
 */
export async function answer(core, request, fetchDocument) {
  try {
    const documents = [];
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      const { status, output } = core.call(encode(request, documents));
      if (status === STATUS.response) return sendable(request.method, decode(decodeResponse, output));
      if (status === STATUS.malformed) throw fault("malformed", "could not read the request");
      const keys = decode(decodeNeed, output);
      const known = new Set(keys);
      for (const { key } of documents) known.add(key);
      if (keys.length === 0 || known.size < documents.length + keys.length || known.size > MAX_DOCUMENTS) {
        throw fault("need", "asked for nothing, too much, or the same again");
      }
      documents.push(...(await Promise.all(keys.map((key) => fetched(key, fetchDocument)))));
    }
    throw fault("calls", `no answer after ${MAX_CALLS} calls`);
  } catch (error) {
    return failure(error);
  }
}

function encode(request, documents) {
  try {
    return encodeRequest(request, documents);
  } catch (error) {
    throw fault("too-large", error.message);
  }
}

function decode(decoder, output) {
  try {
    return decoder(output);
  } catch (error) {
    throw fault("unread", error.message);
  }
}

// What HTTP cannot carry as it is, a platform may mend; a phone would then get
// something else than the record says.
function sendable(method, { status, headers, body, audit }) {
  const named = Object.fromEntries(headers), length = named["content-length"];
  if (status < 200 || status > 599) throw fault("response", `status ${status}`);
  if (Object.keys(named).length < headers.length) throw fault("response", "a header twice");
  if (method === "HEAD" ? length === undefined || body.length > 0 : length !== String(body.length)) {
    throw fault("response", "content-length is not that of the body");
  }
  return { status, headers: named, body, audit: Object.fromEntries(audit) };
}

async function fetched(key, fetchDocument) {
  try {
    const value = await fetchDocument(key);
    return value === null ? { key, state: STATE.absent, value: "" } : { key, state: STATE.found, value };
  } catch {
    // Why is the store's business: its message may hold anything.
    return { key, state: STATE.failed, value: "" };
  }
}

/** The answer when there is none: the same bytes as the core's own 500, and a record that says why. */
export function failure(error) {
  return {
    status: 500,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-length": "6",
      "cache-control": "no-store, no-transform",
      "x-content-type-options": "nosniff",
      "accept-ranges": "none",
    },
    body: new TextEncoder().encode("error\n"),
    audit: { outcome: "failed", cause: typeof error.cause === "string" ? error.cause : "unknown" },
    error,
  };
}
