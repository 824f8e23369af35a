#!/usr/bin/env bash
# Serves a fleet on 127.0.0.1:8080 until it is interrupted, and shows what each of
# its phones gets.
#   build/run.sh FLEET
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fleet=$1
out=build/out
stagger=$out/stagger

if [[ -z ${STAGGER_MASTER_KEY:-} ]]; then
	exec build/demo-key.sh "$0" "$@"
fi

module=(--wasm $out/edge.wasm)
status=0
build/wasm.sh >&2 || status=$?
if [[ $status -eq 3 ]]; then
	echo "no TinyGo here: running the core as Go's own wasm, which behaves the same, a megabyte instead of 80 KB" >&2
	build/wasm.sh go >&2
	module=(--wasm $out/edge-go.wasm --cache $out/cache)
elif [[ $status -ne 0 ]]; then
	exit "$status"
fi

"$stagger" explain --fleet "$fleet"
echo
echo "try, twice, and compare:"
"$stagger" url --fleet "$fleet" --json |
	sed -n 's/.*"url":"\([^"]*\)","file":"\([^"]*\)".*/  curl \1\2/p'
echo
# The demo has no certificate, so its tenant is allowed to do without TLS.
exec "$stagger" serve --fleet "$fleet" --listen 127.0.0.1:8080 --admin 127.0.0.1:9090 \
	--plain-http demo --log-format text "${module[@]}"
