#!/usr/bin/env bash
# Runs every fuzz test for a time, one after the other.
#   build/fuzz.sh TIME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
grep -rlE '^func Fuzz' --include='*_test.go' edge host vendors | xargs -n1 dirname | sort -u | while read -r package; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //' | while read -r fuzz; do
		echo "$package $fuzz"
		# Without a bound, making one input smaller can take the whole time.
		go test "./$package" -run '^$' -fuzz "^$fuzz\$" -fuzztime "$1" -fuzzminimizetime 20x
	done
done
