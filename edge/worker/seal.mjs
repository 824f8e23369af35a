// Opens sealed documents with WebCrypto: the twin of the Go package host/seal, which
// explains their form, and held to the same vectors (testdata/seal.json). It must
// never hand out what does not open, and knows no platform beyond WebCrypto.

const PREFIX = "stagger-seal:";
const HEADER = new RegExp(`^${PREFIX}1:([a-z2-7]):`), HEADER_LENGTH = `${PREFIX}1:a:`.length;
const ID_LABEL = "stagger key v1\0", KEY_LABEL = "stagger seal v1\0";
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const NONCE_BYTES = 12;

// Of so many tenants an isolate keeps the keys.
const MAX_KEPT = 1000;

const encoder = new TextEncoder();
const latin1 = new TextDecoder("latin1");
const prefix = encoder.encode(PREFIX);

/** The documents of a store, sealed or not. */
export class Seal {
  #masters;
  #required;
  #ids;
  #kept = new Map();

  /**
   * @param {Uint8Array[]} masters master secrets, the current one first
   * @param {boolean} required refuses documents that are not sealed
   */
  constructor(masters, required) {
    this.#masters = masters;
    this.#required = required;
  }

  /**
   * @param {string} key the store's, tenant:<id> or device:<tenant>:<mac>
   * @param {ArrayBuffer} value what lies under it
   * @returns {Promise<ArrayBuffer>} the document
   * @throws saying what is wrong, and nothing of the document
   */
  async open(key, value) {
    const bytes = new Uint8Array(value);
    if (!prefix.every((byte, i) => byte === bytes[i])) {
      if (this.#required) throw new Error("is not sealed");
      return value;
    }
    const header = latin1.decode(bytes.subarray(0, HEADER_LENGTH));
    const [, id] = HEADER.exec(header) ?? [];
    const sealed = id && decode(latin1.decode(bytes.subarray(HEADER_LENGTH)));
    if (!sealed) throw new Error("is sealed in a form that this version does not know");
    const parameters = { name: "AES-GCM", iv: sealed.subarray(0, NONCE_BYTES), additionalData: encoder.encode(header + key) };
    this.#ids ??= Promise.all(this.#masters.map(keyID));
    let wrong = "is sealed under a key that is not live";
    for (const [i, own] of (await this.#ids).entries()) {
      // Two secrets may share an id.
      if (own !== id) continue;
      try {
        return await crypto.subtle.decrypt(parameters, await this.#key(i, key.split(":")[1]), sealed.subarray(NONCE_BYTES));
      } catch {
        wrong = "was changed, or sealed for another key of the store or under another master key";
      }
    }
    throw new Error(wrong);
  }

  #key(master, tenant) {
    const name = `${master}:${tenant}`;
    let key = this.#kept.get(name);
    if (key === undefined) {
      if (this.#kept.size === MAX_KEPT) this.#kept.clear();
      key = derive(this.#masters[master], tenant);
      this.#kept.set(name, key);
    }
    return key;
  }
}

async function keyID(master) {
  const label = encoder.encode(ID_LABEL), message = new Uint8Array(label.length + master.length);
  message.set(label);
  message.set(master, label.length);
  return ALPHABET[new Uint8Array(await crypto.subtle.digest("SHA-256", message))[0] >> 3];
}

async function derive(master, tenant) {
  const hmac = await crypto.subtle.importKey("raw", master, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const key = await crypto.subtle.sign("HMAC", hmac, encoder.encode(KEY_LABEL + tenant));
  return crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
}

// Base64 in its one form: padded, nothing between, and no bits set that say nothing.
// The platform's decoder is not strict in any of these.
function decode(base64) {
  if (base64.length % 4 !== 0 || /[^A-Za-z0-9+/=]/.test(base64)) return undefined;
  let text;
  try {
    text = atob(base64);
  } catch {
    return undefined;
  }
  if (btoa(text.slice(text.length - text.length % 3)) !== (text.length % 3 === 0 ? "" : base64.slice(-4))) return undefined;
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
