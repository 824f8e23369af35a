// The Worker: what `wrangler deploy` uploads. The platform's clock and the
// compiled core meet here; cloudflare.mjs does the work, and is a module of its
// own because every export of this one would be an entry point.

import module from "../../build/out/edge.wasm";
import { createWorker } from "./cloudflare.mjs";

export default createWorker(module, { now: Date.now });
