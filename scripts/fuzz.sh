#!/usr/bin/env bash
# Runs every fuzz target of the module for a while, one after the other: scripts/fuzz.sh [TIME], TIME as in -fuzztime.
set -euo pipefail
time=${1:-10s}
found=0
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
		found=$((found + 1))
	done
done
echo "fuzz: $found targets, $time each, nothing found"
