#!/usr/bin/env bash
# Prints the path of a TinyGo to run, and makes one first if need be: the one on
# PATH when it is new enough, else the release pinned in build/tinygo/go.mod,
# compiled into build/out/tinygo. Everything but the path goes to stderr.
# Exits with 3 and one line on stderr when no TinyGo can be had here.
set -euo pipefail

build=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$build/out/tinygo
log=$build/out/tinygo.log
module=github.com/tinygo-org/tinygo
oldest=0.39.0
# TinyGo 0.39 takes Go up to 1.25, whatever Go is installed here. Pinned to the
# patch level, as the standard library is part of what it compiles.
gotoolchain=go1.25.5

die() {
	echo "tinygo.sh: no TinyGo: $1" >&2
	exit 3
}

command -v go >/dev/null || die "no go on PATH"
mkdir -p "$build/out"

# write_wrapper FILE TINYGO ROOT: a script which runs TINYGO in the environment
# it needs. ROOT may be empty: TINYGO then knows its own.
write_wrapper() {
	cat >"$1.$$" <<-EOF
		#!/usr/bin/env bash
		export GOTOOLCHAIN=$gotoolchain${3:+ TINYGOROOT=$(printf %q "$3")}
		wasmopt=$(printf %q "$build/node_modules/.bin/wasm-opt")
		[[ -n \${WASMOPT-} || ! -x \$wasmopt ]] || export WASMOPT=\$wasmopt
		exec $(printf %q "$2") "\$@"
	EOF
	chmod +x "$1.$$"
	mv -f "$1.$$" "$1"
}

if onpath=$(command -v tinygo); then
	version=$("$onpath" version 2>/dev/null | sed -n 's/^tinygo version \([0-9][^ ]*\).*/\1/p' || true)
	if [[ -n $version && $(printf '%s\n' "$oldest" "$version" | sort -V | head -n1) == "$oldest" ]]; then
		if GOTOOLCHAIN=$gotoolchain go version >/dev/null 2>&1; then
			write_wrapper "$build/out/tinygo-on-path" "$onpath" ""
			echo "$build/out/tinygo-on-path"
		else
			echo "$onpath"
		fi
		exit
	fi
fi

# What the cached TinyGo was made from; it moves when any of these changes.
key=$(cat "$build/tinygo/go.mod" "$build/tinygo/go.sum" "${BASH_SOURCE[0]}" <(echo "$build") | cksum)

# The cached one is also run, since build/out outlives the libraries it needs
# when a CI job restores it on a fresh machine.
cached() {
	[[ -f $out/key && $(<"$out/key") == "$key" ]] &&
		command -v wasm-ld-19 >/dev/null && "$out/tinygo" version >/dev/null 2>&1
}

if ! cached; then
	# Two callers at once: the second waits, and finds what the first has made.
	if command -v flock >/dev/null; then
		exec 9>"$build/out/tinygo.lock"
		flock 9
	fi
fi
if ! cached; then
	tmp=$(mktemp -d "$build/out/tinygo.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	: >"$log"
	# The caller may be in the middle of a cross build; this one is for here.
	gocmd() {
		(cd "$build/tinygo" && env -u GOOS -u GOARCH -u GOFLAGS GOWORK=off CGO_ENABLED=1 \
			GOTOOLCHAIN=$gotoolchain go "$@" 2>>"$log")
	}
	gocmd version >/dev/null || die "$gotoolchain cannot be had, see $log"
	gocmd mod download "$module" || die "$module cannot be downloaded, see $log"
	"$build/apt.sh" >&2 || exit 3 # it has said why
	echo "tinygo.sh: compiling the TinyGo of build/tinygo/go.mod (about a minute)" >&2
	gocmd build -trimpath -tags llvm19 -ldflags='-s -w' -o "$tmp/bin" "$module" ||
		die "$module does not compile, see $log"
	src=$(gocmd list -m -f '{{.Dir}}' "$module")

	# A copy, as the module folder is read-only and carries no git submodules:
	# TinyGo wants to see src/net, and an empty one leaves Go's own in place.
	mkdir "$tmp/root"
	cp -R "$src/src" "$src/targets" "$tmp/root/"
	chmod -R u+w "$tmp/root"
	mkdir -p "$tmp/root/src/net"
	write_wrapper "$tmp/tinygo" "$out/bin" "$out/root"
	echo "$key" >"$tmp/key"
	chmod 755 "$tmp"
	rm -rf "$out"
	mv "$tmp" "$out"
	cached || die "the TinyGo just compiled does not run: $("$out/tinygo" version 2>&1 | tail -n1)"
fi
echo "$out/tinygo"
