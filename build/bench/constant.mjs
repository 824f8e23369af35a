// The upper bound: a Worker that answers 4 KiB of text and does nothing else.

const TEXT = new TextEncoder().encode("account.1.display_name = Reception\n".repeat(118).slice(0, 4095) + "\n");
const HEADERS = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store, no-transform" };

export default {
  fetch: () => new Response(TEXT, { headers: HEADERS }),
};
