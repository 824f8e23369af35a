#!/usr/bin/env bash
# Sets up all that is missing and tests everything: Go, the corpus on every engine,
# the Worker in workerd. The fuzz tests run over what they have found so far; with
# FUZZTIME=2s each also looks for more for that long, and can turn red by what no
# change of today has done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { echo "== $1" >&2; }

step "modules"
build/npm.sh
# The foreign parser that the XML escaper is tested with.
command -v xmllint >/dev/null || build/apt.sh libxml2-utils
build/wasm.sh
build/wasm.sh go

step "formatting and vet"
unformatted=$(gofmt -l edge host vendors build/packs build/schema build/zones)
[[ -z $unformatted ]] || { echo "not formatted by gofmt: $unformatted" >&2; exit 1; }
go vet ./...

step "go"
go test ./...

step "go, race detector"
go test -race ./host/accesslog ./host/diff ./host/engine ./host/exchange ./host/fleet ./host/seal ./host/serve ./host/telemetry

step "worker"
node --test build/*.test.mjs

if [[ -n ${FUZZTIME:-} ]]; then
	step "fuzzing, $FUZZTIME each"
	build/fuzz.sh "$FUZZTIME"
fi
