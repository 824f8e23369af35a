#!/usr/bin/env bash
# Prints what each vendor pack adds to edge.wasm: the module is built once with all
# packs, once without any, and once without each. Takes a build for each pack.
#
#   build/sizes.sh [VENDOR...]
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
export TINYGO=${TINYGO:-$(build/tinygo.sh)}
build/npm.sh
export WASMOPT=${WASMOPT:-$repo/build/node_modules/.bin/wasm-opt}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# size prints the size after gzip of the core without these packs.
size() {
	rm -rf "$tmp/repo"
	mkdir -p "$tmp/repo/build/out"
	cp -r edge vendors go.mod go.sum "$tmp/repo"
	cp -r build/{wasm.sh,target.json,packs} "$tmp/repo/build"
	(
		cd "$tmp/repo"
		rm -f vendors/descriptors.go # the descriptors themselves, which only the host has
		for vendor; do rm -r "vendors/$vendor"; done
		go run ./build/packs vendors
		build/wasm.sh -o "$tmp/edge.wasm" >&2
	) 2>"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
	gzip -9nc "$tmp/edge.wasm" | wc -c
}

packs=()
for file in vendors/*/pack.json; do packs+=("$(basename "$(dirname "$file")")"); done
all=$(size)
none=$(size "${packs[@]}")
printf '%-16s %7d\n' 'bytes of gzip' "$all" 'without packs' "$none"
for vendor in "${@:-${packs[@]}}"; do
	printf '%-16s %7d\n' "$vendor" $((all - $(size "$vendor")))
done
