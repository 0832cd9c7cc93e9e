#!/usr/bin/env bash
# Writes the benchmark networks of $LATHE_MODELS/zoo with their generated weights to a folder, unless it is full already:
#     scripts/fill-zoo.sh DIR        about 1.8 GB and one or two minutes
# Tests and benchmarks find the folder through LATHE_ZOO=DIR.
set -euo pipefail

[[ $# -eq 1 && -n $1 ]] || { echo 'usage: LATHE_MODELS=FOLDER scripts/fill-zoo.sh DIR' >&2; exit 1; }
: "${LATHE_MODELS:?fill-zoo: set LATHE_MODELS to the folder of models}"
zoo=$LATHE_MODELS/zoo
[[ -f $zoo/fill.go ]] || { echo "fill-zoo: no $zoo/fill.go: LATHE_MODELS is not the folder of models" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)

# The mark holds the program and the specifications it was filled from, so that a change of either fills again.
mark=$out/.filled
now=$(cd "$zoo" && cat fill.go ./*.json ./*.onnx | sha256sum)
if [[ -f $mark && $(cat "$mark") == "$now" ]]; then
	exit 0
fi
echo "fill-zoo: writing the weights of $(cd "$zoo" && ls ./*.onnx | wc -l) networks to $out"
rm -f "$mark"
(cd "$zoo" && go run fill.go -out "$out")
echo "$now" >"$mark"
