// A client for HTTP/1.1 that sends exactly the bytes it is told to. Node's own
// would refuse or repair what hostile clients send; and it costs more than the
// Worker that is to be measured. For loopback only: it trusts its server.

import net from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");

/** One connection. Requests go one after the other. */
export class Connection {
  #socket;
  #received = [];
  #waiting;
  #problem;

  constructor(port, host = "127.0.0.1") {
    this.#socket = net.connect({ port, host, noDelay: true });
    this.#socket.on("data", (chunk) => { this.#received.push(chunk); this.#waiting?.(); });
    this.#socket.on("error", (error) => { this.#problem ??= error; this.#waiting?.(); });
    this.#socket.on("close", () => { this.#problem ??= new Error("connection closed"); this.#waiting?.(); });
  }

  close() {
    this.#socket.destroy();
  }

  /**
   * Sends a request and reads its response.
   * @param {Buffer} bytes the request as it goes over the wire
   * @param {{head?: boolean, milliseconds?: number}} options head: the response has no body
   * @returns {Promise<{status: number, headers: [string, string][], body: Buffer}>} header names in lower case
   */
  async exchange(bytes, { head = false, milliseconds = 10_000 } = {}) {
    const timer = setTimeout(() => this.#socket.destroy(new Error(`no response within ${milliseconds} ms`)), milliseconds);
    try {
      this.#socket.write(bytes);
      for (;;) {
        const response = await this.#response(head);
        if (response.status >= 200) return response; // 100 Continue comes before the response proper.
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #response(head) {
    let data = await this.#until((data) => data.includes(HEAD_END) && data);
    const end = data.indexOf(HEAD_END);
    const [first, ...lines] = data.toString("latin1", 0, end).split("\r\n");
    const headers = lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
    const status = Number(first.split(" ")[1]);
    const header = (name) => headers.find(([n]) => n === name)?.[1];
    const start = end + HEAD_END.length;
    const bodyless = head || status < 200 || status === 204 || status === 304;
    if (header("transfer-encoding") !== undefined && !bodyless) throw new Error("response of unknown length");
    const length = bodyless ? 0 : Number(header("content-length") ?? 0);
    data = await this.#until((data) => data.length >= start + length && data);
    this.#received = data.length > start + length ? [data.subarray(start + length)] : [];
    return { status, headers, body: data.subarray(start, start + length) };
  }

  async #until(condition) {
    for (;;) {
      const data = this.#received.length === 1 ? this.#received[0] : Buffer.concat(this.#received);
      this.#received = [data];
      const result = condition(data);
      if (result) return result;
      if (this.#problem) throw this.#problem;
      await new Promise((resolve) => { this.#waiting = resolve; });
      this.#waiting = undefined;
    }
  }
}

/** The bytes of a request. Strings are latin1: one character, one byte. */
export function requestBytes(method, target, headers, body = "") {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, "latin1"), Buffer.from(body, "latin1")]);
}
