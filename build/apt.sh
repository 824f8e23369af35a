#!/usr/bin/env bash
# Installs Debian packages, if they are missing: those named, or else those which
# building and running TinyGo needs. Silent when there is nothing to do. Exits with
# 3 and one line on stderr when they cannot be had here.
#   build/apt.sh [PACKAGE...]
set -euo pipefail

die() {
	echo "apt.sh: $1" >&2
	exit 3
}

# llvm and libclang are linked into TinyGo; lld brings wasm-ld-19, which it runs.
# clang itself is not needed: our target compiles no C and no assembly.
want=(llvm-19-dev libclang-19-dev lld-19)
command -v g++ >/dev/null || want+=(g++)
if (($#)); then
	want=("$@")
fi

missing=()
for p in "${want[@]}"; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)
	[[ $status == installed ]] || missing+=("$p")
done
((${#missing[@]})) || exit 0

command -v apt-get >/dev/null || die "cannot install ${missing[*]}: no apt-get, this is not Debian"
((EUID == 0)) || die "cannot install ${missing[*]}: not root"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive

install() {
	apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}" >"$log" 2>&1 </dev/null
}

echo "apt.sh: installing ${missing[*]}" >&2
# The package lists are fetched only when the ones here are absent or stale.
if ! install; then
	apt-get -q -o DPkg::Lock::Timeout=300 update >"$log" 2>&1 || true
	install || die "apt-get could not install ${missing[*]}: $(grep -m1 '^E:' "$log" || tail -n1 "$log")"
fi
