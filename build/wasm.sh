#!/usr/bin/env bash
# Builds the edge core to WebAssembly and prints one line with its sizes.
#
#   build/wasm.sh [-o FILE]      with TinyGo, to build/out/edge.wasm
#   build/wasm.sh go [-o FILE]   with Go's compiler, to build/out/edge-go.wasm
#   build/wasm.sh -p PACKAGE -o FILE   another module than the core, for a test
#
# The bytes depend on the source and the pinned tools only, not on the folder or
# on caches. TINYGO and WASMOPT name the tools to use instead of our own. Exits
# with 3 when there is no TinyGo (see build/tinygo.sh) or no wasm-opt for it.
set -euo pipefail

build=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(dirname "$build")
limit=153600 # bytes of gzip -9, for the TinyGo build: 150 KB with all vendor packs

die() {
	echo "wasm.sh: $1" >&2
	exit 1
}

compiler=tinygo
file=
package=./edge
while (($#)); do
	case $1 in
	go) compiler=go ;;
	-o)
		(($# > 1)) || die "-o wants a file name"
		file=$2
		shift
		;;
	-p)
		(($# > 1)) || die "-p wants a package"
		package=$2
		shift
		;;
	*) die "unknown argument $1 (usage: wasm.sh [go] [-o file])" ;;
	esac
	shift
done
if [[ -z $file ]]; then
	file=$build/out/edge.wasm
	[[ $compiler == tinygo ]] || file=$build/out/edge-go.wasm
	# Nothing to do when the module is newer than everything that it is made of.
	inputs=("$repo"/{edge,vendors,go.mod,go.sum} "$build"/{wasm.sh,tinygo.sh,target.json,tinygo,package-lock.json})
	if [[ -e $file && -z $(find "${inputs[@]}" -type f ! -name '*_test.go' -newer "$file" -print -quit) ]]; then
		exit 0
	fi
fi
mkdir -p "$(dirname "$file")"
file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")

# Beside the output, so that the last step is a rename.
tmp=$(mktemp -d "$(dirname "$file")/.wasm.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$repo"
export GOWORK=off

sizes() {
	raw=$(wc -c <"$1")
	gz=$(gzip -9nc "$1" | wc -c)
}

publish() {
	chmod 644 "$1"
	mv -f "$1" "$file"
	echo "$(basename "$file"): $raw bytes, $gz gzip"
}

if [[ $compiler == go ]]; then
	GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 go build -buildmode=c-shared -trimpath -buildvcs=false \
		-ldflags='-s -w -buildid=' -o "$tmp/go.wasm" "$package"
	sizes "$tmp/go.wasm"
	publish "$tmp/go.wasm"
	exit
fi

tinygo=${TINYGO:-}
[[ -n $tinygo ]] || tinygo=$("$build/tinygo.sh")

wasmopt=${WASMOPT:-$build/node_modules/.bin/wasm-opt}
if [[ -z ${WASMOPT-} ]] && ! "$build/npm.sh"; then
	echo "wasm.sh: no wasm-opt: npm could not install it" >&2
	exit 3
fi
[[ -x $wasmopt ]] || die "no wasm-opt at $wasmopt: run npm ci in build/"

WASMOPT=$wasmopt "$tinygo" build -target="$build/target.json" -opt=2 -gc=leaking -scheduler=none \
	-panic=trap -no-debug -o "$tmp/tinygo.wasm" "$package" >&2

# TinyGo keeps the names of functions, and its os package exports a stub called
# syscall.seek. An export of ours has no dot in its name. The text format does
# not carry the features, so they are named again.
features=(--enable-bulk-memory --enable-bulk-memory-opt --enable-mutable-globals
	--enable-nontrapping-float-to-int --enable-sign-ext)
"$wasmopt" "${features[@]}" --strip-debug --strip-producers -S -o "$tmp/all.wat" "$tmp/tinygo.wasm"
sed '/^ *(export "[^"]*\.[^"]*"/d' "$tmp/all.wat" >"$tmp/own.wat"
"$wasmopt" "${features[@]}" --remove-unused-module-elements --strip-target-features \
	-o "$tmp/edge.wasm" "$tmp/own.wat"

# What the hosts rely on: nothing to import, and a memory which never moves.
node -e '
	const module = new WebAssembly.Module(require("fs").readFileSync(process.argv[1]));
	const fail = (why) => { console.error("wasm.sh: " + why); process.exit(1); };
	const imports = WebAssembly.Module.imports(module).map((i) => i.module + "." + i.name);
	if (imports.length) fail("./edge wants imports, the host gives none: " + imports.join(", "));
	const { memory, _initialize } = new WebAssembly.Instance(module).exports;
	if (!memory || !_initialize) fail("./edge does not export memory and _initialize");
	_initialize();
	let grew = true;
	try { memory.grow(1); } catch { grew = false; }
	if (grew) fail("the memory of ./edge can grow, see ldflags in build/target.json");
' "$tmp/edge.wasm"

sizes "$tmp/edge.wasm"
((gz <= limit)) || die "./edge is $gz bytes after gzip -9, the limit is $limit"
publish "$tmp/edge.wasm"
