#!/usr/bin/env bash
# Runs a command with a master key for the demo: STAGGER_MASTER_KEY as it is, else
# one that is made once and kept in build/out/demo.key.
#   build/demo-key.sh COMMAND [ARGUMENT...]
set -euo pipefail
out=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/out
if [[ -z ${STAGGER_MASTER_KEY:-} ]]; then
	mkdir -p "$out"
	if [[ ! -s $out/demo.key ]]; then
		(umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$out/demo.key.$$" && mv "$out/demo.key.$$" "$out/demo.key")
	fi
	STAGGER_MASTER_KEY=$(<"$out/demo.key")
	export STAGGER_MASTER_KEY
fi
exec "$@"
