// What one would write instead: the same answer for a Yealink phone from a Worker
// in plain JavaScript, with what the platform offers (WebCrypto, JSON.parse,
// template literals). It serves the benchmark documents and phones like theirs.
// It is spared much of the core's work: documents are parsed and trusted, so that a
// line break in a name would end up in the file, and the record that it logs has no
// hash of the file.

const encoder = new TextEncoder();
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const READ = { type: "json", cacheTtl: 60 };

const MODELS = {
  T46U: { lines: 16, keys: 27, blf: true },
  T54W: { lines: 16, keys: 27, blf: true },
  T31G: { lines: 2, keys: 2, blf: true },
};
const LANGUAGES = { en: "English", de: "German", fr: "French", it: "Italian", es: "Spanish" };
const TRANSPORTS = { udp: 0, tcp: 1, tls: 2, "dns-naptr": 3 };
const PORTS = { udp: 5060, tcp: 5060, tls: 5061 };
const SRTP = { off: 0, optional: 1, required: 2 };
const KEYS = { none: 0, line: 15, blf: 16, "speed-dial": 13, intercom: 14, park: 10, dtmf: 11 };
const ZONES = {
  "Europe/Belgrade": { offset: "+1", start: "3/5/7/2", end: "10/5/7/3", save: 60 },
  "Europe/London": { offset: "0", start: "3/5/7/1", end: "10/5/7/2", save: 60 },
};
const TIMERS = {
  checkin: { interval: 86400, window: 14400, floor: 3600, unit: 60 },
  register: { interval: 3600, window: 600, floor: 60, unit: 1, min: 30 },
  subscribe: { interval: 3600, window: 600, floor: 60, unit: 1, min: 30 },
};

export default {
  async fetch(request, env) {
    const record = {};
    try {
      return await provision(request, env, record);
    } catch {
      record.outcome = "failed";
      return answer(500, "error\n");
    } finally {
      console.log(JSON.stringify(record));
    }
  },
};

async function provision(request, env, record) {
  const refuse = (status, outcome, body = "") => {
    record.outcome = outcome;
    return answer(status, body);
  };
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(405, "method");
  const url = new URL(request.url);
  const match = /^\/([a-z0-9-]{1,32})\/([a-z2-7]{30})\/([0-9a-f]{12})\.cfg$/i.exec(url.pathname);
  if (!match) return refuse(404, "malformed", "not found\n");
  const [, tenantId, given] = match;
  const mac = match[3].toLowerCase();
  record.tenant = tenantId;
  record.mac = mac;
  if (url.protocol !== "https:") return refuse(403, "plain-http");
  const generation = [1, 2, 3].reduce((n, i) => n * 32 + ALPHABET.indexOf(given[i]), 0);
  const token = await tokenOf(env, tenantId, mac, generation);
  if (!crypto.subtle.timingSafeEqual(encoder.encode(token), encoder.encode(given))) return refuse(404, "token", "not found\n");

  const [tenant, device] = await Promise.all([
    env.FLEET.get(`tenant:${tenantId}`, READ),
    env.FLEET.get(`device:${tenantId}:${mac}`, READ),
  ]);
  if (!tenant || !device) return refuse(404, "no-device", "not found\n");
  if (device.tenant !== tenantId || device.device !== mac) return refuse(500, "invalid", "error\n");
  const phone = { ...tenant, ...device };
  if (phone.state === "disabled") return refuse(404, "disabled", "not found\n");
  if ((device.generation ?? 0) !== generation) return refuse(404, "revoked", "not found\n");
  phone.timers = { ...tenant.timers, ...device.timers };
  phone.url = `${tenant.url}/${tenantId}/${token}/`;
  const timers = [];
  const body = file(phone, mac, timers);
  record.vendor = "yealink";
  record.file = "config";
  record.timers = timers.join(" ");
  record.outcome = "ok";
  return answer(200, body);
}

const HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store, no-transform",
  "x-content-type-options": "nosniff",
  "accept-ranges": "none",
};

// The platform adds content-length, for HEAD as well.
function answer(status, body) {
  const headers = status === 405 ? { ...HEADERS, allow: "GET, HEAD" } : HEADERS;
  return new Response(body === "" ? null : body, { status, headers });
}

// Imported keys are good for as long as the isolate lives.
let master;
const tenants = new Map();

async function tokenOf(env, tenant, mac, generation) {
  master ??= await importMaster(env.STAGGER_MASTER_KEY);
  let key = tenants.get(tenant);
  if (!key) {
    key = await hmacKey(await crypto.subtle.sign("HMAC", master.key, encoder.encode(`stagger tenant v1\0${tenant}`)));
    tenants.set(tenant, key);
  }
  const label = encoder.encode(`stagger token v1\0${tenant}\0${mac}\0`);
  const message = new Uint8Array(label.length + 2);
  message.set(label);
  message[label.length] = generation >> 8;
  message[label.length + 1] = generation & 255;
  const sum = new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
  let digits = master.id + ALPHABET[generation >> 10] + ALPHABET[(generation >> 5) & 31] + ALPHABET[generation & 31];
  for (let bits = 0, have = 0, at = 0; digits.length < 30; ) {
    if (have < 5) {
      bits = ((bits << 8) | sum[at++]) & 0xffff;
      have += 8;
    }
    have -= 5;
    digits += ALPHABET[(bits >> have) & 31];
  }
  return digits;
}

async function importMaster(hex) {
  const bytes = Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
  const label = encoder.encode("stagger key v1\0");
  const labelled = new Uint8Array(label.length + bytes.length);
  labelled.set(label);
  labelled.set(bytes, label.length);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", labelled));
  return { id: ALPHABET[digest[0] >> 3], key: await hmacKey(bytes) };
}

const hmacKey = (bytes) => crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

function file(phone, mac, timers) {
  const model = MODELS[phone.model];
  const value = (name, timer, override) => {
    const t = { ...TIMERS[timer], ...phone.timers[timer] };
    if (override) t.interval = override;
    const units = spread(mac, name, t);
    timers.push(`${name}=${units * t.unit}`);
    return units;
  };
  const checkin = value("checkin", "checkin");
  const subscribe = value("subscribe", "subscribe");
  const lines = [];
  let last = 0;
  for (const line of phone.lines) {
    const l = { enabled: true, transport: "udp", srtp: "off", mwi: true, ...phone.line, ...line };
    l.index ??= last + 1;
    if (l.index <= last || l.index > model.lines) throw new Error("index of a line");
    last = l.index;
    l.port ??= PORTS[l.transport];
    if (l.outbound_proxy) l.outbound_port ??= PORTS[l.transport];
    l.auth_user ??= l.user;
    l.label ??= l.user;
    l.display_name ??= l.label;
    if (!l.enabled) continue;
    l.registration = value(`register.${l.index}`, "register", l.register);
    lines.push(l);
  }
  const keys = phone.keys ?? lines.slice(0, model.keys).map((l) => ({ type: "line", line: l.index }));
  const zone = ZONES[phone.time_zone];

  let out = `#!version:1.0.0.1
static.auto_provision.server.url = ${phone.url}
static.auto_provision.power_on = 1
static.auto_provision.repeat.enable = 1
static.auto_provision.repeat.minutes = ${checkin}
static.auto_provision.weekly.enable = 0
static.auto_provision.flexible.enable = 0
static.auto_provision.pnp_enable = 0
`;
  if (phone.firmware_url) out += `static.firmware.url = ${phone.firmware_url}\n`;
  if (phone.admin_password) out += `static.security.user_password = admin:${phone.admin_password}\n`;
  out += `sip.notify_reboot_enable = 0
sip.reg_surge_prevention = ${phone.timers.boot ?? 0}
`;
  if (phone.language) out += `lang.gui = ${LANGUAGES[phone.language]}\nlang.wui = ${LANGUAGES[phone.language]}\n`;
  if (phone.ntp) {
    phone.ntp.forEach((host, i) => { out += `local_time.ntp_server${i + 1} = ${host}\n`; });
    out += "local_time.manual_ntp_srv_prior = 1\n";
  }
  if (zone) {
    out += `local_time.dhcp_time = 0
local_time.time_zone = ${zone.offset}
local_time.summer_time = 1
local_time.dst_time_type = 1
local_time.start_time = ${zone.start}
local_time.end_time = ${zone.end}
local_time.offset_time = ${zone.save}
`;
  }
  out += `remote_phonebook.data.1.name = ${phone.phonebook ? phone.phonebook.name ?? "Directory" : "%NULL%"}
remote_phonebook.data.1.url = ${phone.phonebook ? phone.phonebook.url : "%NULL%"}
`;
  out += phone.pickup_code
    ? `features.pickup.direct_pickup_enable = 1\nfeatures.pickup.direct_pickup_code = ${phone.pickup_code}\n`
    : "features.pickup.direct_pickup_enable = 0\n";
  for (const l of lines) {
    const a = `account.${l.index}`;
    out += `${a}.enable = 1
${a}.label = ${l.label}
${a}.display_name = ${l.display_name}
${a}.user_name = ${l.user}
${a}.auth_name = ${l.auth_user}
${a}.password = ${l.password}
${a}.sip_server.1.address = ${l.server}
`;
    if (l.port) out += `${a}.sip_server.1.port = ${l.port}\n`;
    out += `${a}.sip_server.1.transport_type = ${TRANSPORTS[l.transport]}
${a}.sip_server.1.expires = ${l.registration}
${a}.reg_failed_retry_min_time = 30
${a}.reg_failed_retry_max_time = 600
`;
    if (l.outbound_proxy) {
      out += `${a}.outbound_proxy_enable = 1\n${a}.outbound_proxy.1.address = ${l.outbound_proxy}\n`;
      if (l.outbound_port) out += `${a}.outbound_proxy.1.port = ${l.outbound_port}\n`;
    } else {
      out += `${a}.outbound_proxy_enable = 0\n`;
    }
    out += `${a}.srtp_encryption = ${SRTP[l.srtp]}\n`;
    if (model.blf) out += `${a}.blf.subscribe_period = ${subscribe}\n`;
    out += `${a}.subscribe_mwi = ${l.mwi ? 1 : 0}
voice_mail.number.${l.index} = ${l.voicemail ? l.voicemail : "%NULL%"}
`;
  }
  for (let n = 1; n <= model.lines; n++) {
    if (!lines.some((l) => l.index === n)) out += `account.${n}.enable = 0\n`;
  }
  const used = new Set();
  last = 0;
  for (const k of keys) {
    const n = k.index ?? last + 1;
    if (n <= last || n > model.keys) throw new Error("index of a key");
    last = n;
    used.add(n);
    const line = lines.find((l) => l.index === (k.line ?? 1));
    if (!line) throw new Error("line of a key");
    const label = k.label ?? (k.type === "line" ? line.label : k.value);
    out += `linekey.${n}.type = ${KEYS[k.type]}
linekey.${n}.line = ${k.line ?? 1}
linekey.${n}.value = ${k.value ? k.value : "%NULL%"}
linekey.${n}.label = ${label ? label : "%NULL%"}
linekey.${n}.extension = ${k.pickup ? k.pickup : "%NULL%"}
`;
  }
  for (let n = 1; n <= model.keys; n++) if (!used.has(n)) out += `linekey.${n}.type = 0\n`;
  return out;
}

/** The value of a timer in the unit of the phone. */
function spread(mac, name, { interval, window, floor, unit, min = 1 }) {
  interval = Math.floor(interval / unit);
  const lowest = Math.max(Math.ceil(floor / unit), min);
  const slots = Math.max(1, Math.min(Math.floor(window / unit), interval - lowest + 1));
  hash(`${mac}|${name}`);
  return interval - jump(slots);
}

// 64-bit arithmetic in halves, because BigInt is several times slower. The result
// of the last operation is in hi and lo.
let hi = 0, lo = 0;

function mul(bh, bl) {
  const a0 = lo & 0xffff, a1 = lo >>> 16, b0 = bl & 0xffff, b1 = bl >>> 16;
  const middle = a0 * b1 + ((a0 * b0) >>> 16);
  const other = a1 * b0 + (middle & 0xffff);
  hi = (a1 * b1 + (middle >>> 16) + (other >>> 16) + Math.imul(hi, bl) + Math.imul(lo, bh)) | 0;
  lo = Math.imul(lo, bl);
}

function add(bh, bl) {
  const sum = (lo >>> 0) + (bl >>> 0);
  hi = (hi + bh + (sum > 0xffffffff ? 1 : 0)) | 0;
  lo = sum | 0;
}

function rotate(n) {
  const h = hi;
  hi = (h << n) | (lo >>> (32 - n));
  lo = (lo << n) | (h >>> (32 - n));
}

// The primes of xxHash64.
const [P1H, P1L] = [0x9e3779b1, 0x85ebca87], [P2H, P2L] = [0xc2b2ae3d, 0x27d4eb4f], [P3H, P3L] = [0x165667b1, 0x9e3779f9];
const [P4H, P4L] = [0x85ebca77, 0xc2b2ae63], [P5H, P5L] = [0x27d4eb2f, 0x165667c5];

/** xxHash64 with seed 0 of an ASCII text of less than 32 characters, into hi and lo. */
function hash(text) {
  const word = (i) => text.charCodeAt(i) | (text.charCodeAt(i + 1) << 8) | (text.charCodeAt(i + 2) << 16) | (text.charCodeAt(i + 3) << 24);
  let i = 0, h, l;
  hi = P5H | 0, lo = P5L | 0;
  add(0, text.length);
  for (; i + 8 <= text.length; i += 8) {
    h = hi, l = lo;
    hi = word(i + 4), lo = word(i);
    mul(P2H, P2L), rotate(31), mul(P1H, P1L);
    hi ^= h, lo ^= l;
    rotate(27), mul(P1H, P1L), add(P4H, P4L);
  }
  if (i + 4 <= text.length) {
    h = hi, l = lo;
    hi = 0, lo = word(i);
    mul(P1H, P1L);
    hi ^= h, lo ^= l;
    rotate(23), mul(P2H, P2L), add(P3H, P3L);
    i += 4;
  }
  for (; i < text.length; i++) {
    h = hi, l = lo;
    hi = 0, lo = text.charCodeAt(i);
    mul(P5H, P5L);
    hi ^= h, lo ^= l;
    rotate(11), mul(P1H, P1L);
  }
  lo ^= hi >>> 1;
  mul(P2H, P2L);
  l = (lo >>> 29) | (hi << 3), h = hi >>> 29;
  lo ^= l, hi ^= h;
  mul(P3H, P3L);
  lo ^= hi;
}

/** Jump consistent hash of hi and lo. */
function jump(slots) {
  let slot = 0;
  for (let next = 0; next < slots; ) {
    slot = next;
    mul(0x27bb2ee6, 0x87b0b0fd);
    add(0, 1);
    next = Math.floor(((slot + 1) * 2 ** 31) / ((hi >>> 1) + 1));
  }
  return slot;
}
