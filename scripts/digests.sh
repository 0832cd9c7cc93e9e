#!/usr/bin/env bash
# Prints a digest of the code, graph and weights of every model's package on six targets, one line each, so that a change
# that must not alter what is compiled can be proved not to:
#     scripts/digests.sh LATHE MODEL.onnx... >FILE        LATHE is the binary to ask; compare two FILEs with diff
# Without models: the benchmark networks of $LATHE_ZOO and the real and light models of $LATHE_MODELS. A model that is
# refused has a line with the cause. TARGETS="a;b" asks for other targets. All takes about half an hour on two cores.
set -euo pipefail

[[ $# -ge 1 && -x $1 ]] || { echo 'usage: scripts/digests.sh LATHE [MODEL.onnx...]' >&2; exit 1; }
lathe=$(realpath "$1")
shift
if [[ $# -eq 0 ]]; then
	: "${LATHE_MODELS:?digests: set LATHE_MODELS to the folder of models}"
	: "${LATHE_ZOO:?digests: set LATHE_ZOO to the folder that scripts/fill-zoo.sh filled}"
	mapfile -t models < <(ls "$LATHE_ZOO"/*.onnx; find "$LATHE_MODELS/onnx" "$LATHE_MODELS/onnx_backend/light" -name '*.onnx' | sort)
	set -- "${models[@]}"
fi
IFS=';' read -r -a targets <<<"${TARGETS:-llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4;llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3;llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76;llvm -mtriple=armv7a-linux-gnueabihf -mcpu=cortex-a7;llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280;wasm32}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# digest prints name, target, and a member's digest a line.
digest() {
	local model=$1 target=$2 id=$3 out=$work/$3.tar format=so
	[[ $target == wasm32 ]] && format=wasm out=$work/$3.wasm
	if ! "$lathe" compile --target "$target" -f $format -o "$out" "$model" >"$work/$id.log" 2>&1; then
		echo "$model|$target|refused: $(tail -n 1 "$work/$id.log" | sed "s|$work||g")"
	elif [[ $format == wasm ]]; then
		echo "$model|$target|wasm $(sha256sum <"$out" | cut -c1-16)"
	else
		for member in mod.so mod.json mod.params; do
			echo "$model|$target|$member $(tar -xOf "$out" $member | sha256sum | cut -c1-16)"
		done
	fi
	rm -f "$work/$id".*
}

id=0
for model; do
	for target in "${targets[@]}"; do
		id=$((id + 1))
		digest "$model" "$target" "$id" >"$work/out.$id" &
		if ((id % $(nproc) == 0)); then wait; fi
	done
	wait
	cat $(ls -v "$work"/out.*)
	rm -f "$work"/out.*
done
