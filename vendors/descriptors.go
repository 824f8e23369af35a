//go:build !wasm

package vendors

import "embed"

// Descriptors has the pack.json of all packs, for tools. The core does without.
//
//go:embed */pack.json
var Descriptors embed.FS
