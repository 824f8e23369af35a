#!/usr/bin/env bash
# Runs every fuzz test for a time, one after the other, and prints a line for each:
# how many inputs were tried. The output of one that fails is shown whole.
#   build/fuzz.sh TIME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
while read -r package; do
	while read -r fuzz; do
		# Without a bound, making one input smaller can take the whole time.
		if ! go test "./$package" -run '^$' -fuzz "^$fuzz\$" -fuzztime "$1" -fuzzminimizetime 20x >"$log" 2>&1; then
			cat "$log"
			exit 1
		fi
		# A slow test can spend a short time on its seeds alone.
		execs=$(grep -oE 'execs: [0-9]+' "$log" | tail -n1 || true)
		echo "$package $fuzz: ${execs:-no more than seeds, the time was over before all of them had run}"
	done < <(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //')
done < <(grep -rlE '^func Fuzz' --include='*_test.go' edge host vendors | xargs -n1 dirname | sort -u)
