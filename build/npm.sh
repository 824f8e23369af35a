#!/usr/bin/env bash
# Installs the pinned npm packages into build/node_modules, when the lock file is
# newer than what is there. Several builds at once wait for each other.
set -euo pipefail
build=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$build/out"
exec 9>"$build/out/npm.lock"
flock 9
if [[ -e $build/node_modules/.package-lock.json && ! $build/package-lock.json -nt $build/node_modules/.package-lock.json ]]; then
	exit 0
fi
command -v npm >/dev/null || { echo "npm.sh: no npm on PATH" >&2; exit 1; }
npm --prefix "$build" ci --no-audit --no-fund --loglevel=error >&2
touch "$build/node_modules" "$build/node_modules/.package-lock.json"
