// Records of requests on their way out of the isolate: to a URL, as lines of JSON and
// many at a time, and to Workers Analytics Engine. It must never make a phone wait,
// never hold more than its bound, and never send a token, a header or a document.
//
// Isolates that began together and flushed at one interval would meet at the sink
// in every round. So each draws, once and at random, when its first interval ends;
// at its first request, because before that there is no randomness in a Worker.
//
// There are no timers between requests either: a flush comes with the first
// request after it is due, or when the buffer is full. What an isolate has when the
// platform ends it, which it does without a word, is lost. For records that must
// not be lost there is the platform's own log, which has one for each request, and
// Analytics Engine, which gets each at once.

const DEFAULT_SECONDS = 60, MAX_SECONDS = 86_400;
// A flush, and what an isolate of 128 MB can spare: about 1,400 records.
const MAX_BYTES = 512 * 1024;
const MAX_RECORD_BYTES = 8 * 1024;
const SEND_MILLISECONDS = 10_000;
// When the request that a flush came with has ended, nobody hears of its outcome.
const LOST_MILLISECONDS = 60_000;
const MAX_PAUSE_MILLISECONDS = 300_000, MAX_AFTER_MILLISECONDS = 3_600_000;
const FINAL = [400, 413, 422];
const HEADER = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)$/; // RFC 9110, 5.1 and 5.5
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"];
// What Analytics Engine gets, in this order: blob1 and so on, double1 and so on.
const BLOBS = ["tenant", "mac", "vendor", "file", "outcome", "hash", "documents", "remote", "colo", "method", "cohort"];
const DOUBLES = ["status", "bytes", "ms"];

const encoder = new TextEncoder();

/**
 * Telemetry as the environment wants it, or undefined when it wants none:
 *
 *   STAGGER_TELEMETRY           URL that takes lines of JSON in a POST
 *   STAGGER_TELEMETRY_HEADER    secret: a header that it wants, "Name: value"
 *   STAGGER_TELEMETRY_INTERVAL  seconds between flushes, 60 unless it is set
 *   TELEMETRY                   a dataset of Workers Analytics Engine
 *
 * @param {Uint8Array} [key] the current master key
 * @param {{now: () => number, random?: () => number}} clock milliseconds, and numbers of [0, 1)
 */
export function telemetryOf(env, key, { now, random = Math.random }) {
  const dataset = typeof env.TELEMETRY?.writeDataPoint === "function" ? env.TELEMETRY : undefined;
  const sink = sinkOf(env);
  return dataset || sink ? new Telemetry({ dataset, sink, key, now, random }) : undefined;
}

// A wrong setting turns the sink off and says so. It must not keep phones from
// their files.
function sinkOf(env) {
  const text = (name) => (typeof env[name] === "string" ? env[name].trim() : "");
  const wrong = (name, what) => void console.error(`stagger: ${name} ${what}: records are sent nowhere`);
  const address = text("STAGGER_TELEMETRY"), header = text("STAGGER_TELEMETRY_HEADER");
  if (address === "") return undefined;
  let url;
  try {
    url = new URL(address);
  } catch {
    return wrong("STAGGER_TELEMETRY", "is not a URL");
  }
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    return wrong("STAGGER_TELEMETRY", "is not a URL of http or https without a password");
  }
  const seconds = Number(text("STAGGER_TELEMETRY_INTERVAL") || DEFAULT_SECONDS);
  if (!(seconds >= 1 && seconds <= MAX_SECONDS)) return wrong("STAGGER_TELEMETRY_INTERVAL", `is not from 1 to ${MAX_SECONDS}`);
  const headers = new Headers({ "content-type": "application/x-ndjson", "user-agent": "stagger" });
  if (header !== "") {
    // Not left to Headers, whose errors show what is wrong.
    const [, name, value] = HEADER.exec(header) ?? [];
    if (name === undefined) return wrong("STAGGER_TELEMETRY_HEADER", 'is not a header such as "Authorization: Bearer ..."');
    headers.set(name, value);
  }
  return { url: url.href, headers, interval: seconds * 1000 };
}

export class Telemetry {
  #settings;
  #lines = [];
  #bytes = 0;
  #dropped = 0;
  #due; // when the interval ends; not known before the first request
  #pending = false; // an interval has ended, or a flush has failed
  #flight; // what is being sent, and since when
  #failures = 0;
  #notBefore = 0;
  #digestKey;

  constructor(settings) {
    this.#settings = settings;
  }

  /**
   * Takes the record of a request; the phone does not wait for it.
   * @param {Request} request
   * @param {{status: number, body: Uint8Array, audit: object}} answer
   * @param {Map} documents what `kept` has filled
   * @param {number} start milliseconds
   * @param {{waitUntil: (promise: Promise) => void}} context
   */
  record({ method, headers, cf }, { status, body, audit }, documents, start, context) {
    const end = this.#settings.now();
    const fields = {
      time: new Date(end).toISOString(), level: status >= 500 ? "ERROR" : "INFO", msg: "request",
      method: METHODS.includes(method) ? method : "other", status, bytes: method === "HEAD" ? 0 : body.length,
      // The platform's clock stands still while code runs: this is the time of the look-ups.
      ms: end - start,
      remote: headers.get("cf-connecting-ip")?.slice(0, 45), colo: cf?.colo, ...audit,
    };
    context.waitUntil(this.#take(fields, documents).catch((error) => console.error(`stagger: telemetry: ${error.message}`)));
  }

  async #take(fields, documents) {
    fields.documents = await this.#digest(documents);
    this.#settings.dataset?.writeDataPoint({
      // Sampled, if at all, phone by phone.
      indexes: [fields.mac ?? ""],
      blobs: BLOBS.map((name) => String(fields[name] ?? "")),
      doubles: DOUBLES.map((name) => fields[name]),
    });
    if (!this.#settings.sink) return;
    const { sink: { interval }, now, random } = this.#settings, at = now();
    this.#due ??= at + random() * interval;
    this.#push(`${JSON.stringify(fields)}\n`);
    if (this.#flight && at - this.#flight.since > LOST_MILLISECONDS) this.#back("no answer");
    if (at >= this.#due) {
      this.#pending = true;
      // The phase stays, however late the request came.
      this.#due += Math.ceil((at + 1 - this.#due) / interval) * interval;
    }
    if ((this.#pending || this.#bytes > MAX_BYTES / 2) && !this.#flight && at >= this.#notBefore) await this.#flush(at);
  }

  #push(line) {
    // One character is one byte: what is in a record is ASCII, or it is no phone's.
    if (line.length > MAX_RECORD_BYTES) {
      this.#dropped++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += line.length;
    while (this.#bytes > MAX_BYTES) {
      this.#bytes -= this.#lines.shift().length;
      this.#dropped++;
    }
  }

  async #flush(at) {
    const { sink: { url, headers }, now } = this.#settings;
    const flight = { since: at, lines: this.#lines, dropped: this.#dropped };
    [this.#flight, this.#lines, this.#bytes, this.#dropped, this.#pending] = [flight, [], 0, 0, false];
    const said = flight.dropped === 0 ? ""
      : `${JSON.stringify({ time: new Date(at).toISOString(), level: "WARN", msg: "dropped", records: flight.dropped })}\n`;
    let failure, after = 0;
    try {
      const response = await fetch(url, {
        method: "POST", headers, body: said + flight.lines.join(""), redirect: "manual", signal: AbortSignal.timeout(SEND_MILLISECONDS),
      });
      await response.body?.cancel();
      if (FINAL.includes(response.status)) {
        // They would never be taken.
        this.#dropped += flight.dropped + flight.lines.length;
        console.error(`stagger: the telemetry sink refuses ${flight.lines.length} records: status ${response.status}`);
      } else if (!response.ok) {
        failure = `status ${response.status}`;
      }
      if (response.status === 429 || response.status === 503) after = afterOf(response.headers.get("retry-after"), now());
    } catch (error) {
      failure = error.name; // its message may have the URL
    }
    if (this.#flight !== flight) return; // given up for lost
    if (failure === undefined) {
      this.#flight = undefined;
      this.#failures = 0;
    } else {
      this.#back(failure, after);
    }
  }

  // What was not taken comes before what is new, and is the first to be dropped. The
  // next attempt is at random below a limit that doubles, after what the sink asks for.
  #back(failure, after = 0) {
    const { now, random } = this.#settings, { lines, dropped } = this.#flight, newer = this.#lines;
    this.#flight = undefined;
    [this.#lines, this.#bytes, this.#pending] = [[], 0, true];
    this.#dropped += dropped;
    for (const line of lines) this.#push(line);
    for (const line of newer) this.#push(line);
    this.#notBefore = now() + after + random() * Math.min(MAX_PAUSE_MILLISECONDS, 1000 * 2 ** Math.min(this.#failures++, 16));
    if (this.#failures === 1) console.error(`stagger: the telemetry sink takes no records: ${failure}`);
  }

  // The same word as the Go host's (host/serve/documents.go) for the same documents.
  async #digest(documents) {
    const { key } = this.#settings;
    if (!key || documents.size === 0) return undefined;
    const parts = [];
    for (const [name, value] of documents) {
      if (value === undefined) return undefined; // The store could not tell.
      const keyBytes = encoder.encode(name), bytes = value === null ? new Uint8Array() : bytesOf(value);
      const head = new DataView(new ArrayBuffer(9));
      head.setUint8(0, value === null ? 1 : 0);
      head.setUint32(1, keyBytes.length, true);
      head.setUint32(5, bytes.length, true);
      parts.push(new Uint8Array(head.buffer), keyBytes, bytes);
    }
    // The key and not its promise: one request must not wait for what another began.
    this.#digestKey ??= await importKey(await sign(await importKey(key), encoder.encode("stagger documents v1")));
    const sum = await sign(this.#digestKey, joined(parts));
    return Array.from(new Uint8Array(sum, 0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

const HMAC = { name: "HMAC", hash: "SHA-256" };
const importKey = (bytes) => crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]);
const sign = (key, bytes) => crypto.subtle.sign("HMAC", key, bytes);
const bytesOf = (value) => (typeof value === "string" ? encoder.encode(value) : new Uint8Array(value));

function joined(parts) {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

// RFC 9110, 10.2.3: seconds, or a date.
function afterOf(value, now) {
  const milliseconds = /^\d{1,9}$/.test(value ?? "") ? value * 1000 : / GMT$/.test(value ?? "") ? Date.parse(value) - now : 0;
  return Number.isFinite(milliseconds) ? Math.min(Math.max(milliseconds, 0), MAX_AFTER_MILLISECONDS) : 0;
}

/** Keeps what a store answers, in the order of the questions: undefined where it could not tell. */
export function kept(documents, get) {
  return async (key) => {
    documents.set(key, undefined);
    const value = await get(key);
    documents.set(key, value);
    return value;
  };
}
