#!/usr/bin/env bash
# Proves that a change alters nothing of what is compiled, or shows what it alters:
#     scripts/digests.sh OLD [NEW] [-- MODEL.onnx...]
# OLD and NEW are commits or binaries of lathe; without NEW, the working tree. Every model is compiled by both for six targets, and
# the code, graph and weights of the packages are compared by digest. A model that is refused has its message compared. Ends with
# one line, and status 1 if anything differs; what differs stands above it.
#
# Without models: those of $LATHE_ZOO, and of onnx and onnx_backend in $LATHE_MODELS, small ones first. What is done is kept by the
# digest of the binary in $DIGESTS (build/digests) and not done again, so that an interrupted run goes on. JOBS (all cores) models
# are compiled at a time; TARGETS="a;b" asks for other targets. All models take about half an hour a binary on two cores; run
# it by `nice` beside other work.
set -euo pipefail

usage() { echo 'usage: scripts/digests.sh OLD [NEW] [-- MODEL.onnx...]' >&2; exit 2; }
die() { echo "digests: $*" >&2; exit 2; }

sides=()
while [[ $# -gt 0 && $1 != -- ]]; do sides+=("$1"); shift; done
[[ ${#sides[@]} -ge 1 && ${#sides[@]} -le 2 && ${sides[0]} != -* ]] || usage
[[ $# -eq 0 ]] || shift
if [[ $# -eq 0 ]]; then
	: "${LATHE_MODELS:?set LATHE_MODELS to the folder of models}" "${LATHE_ZOO:?set LATHE_ZOO to the folder that scripts/fill-zoo.sh filled}"
	mapfile -t models < <(
		find "$LATHE_MODELS/onnx_backend" "$LATHE_MODELS/onnx" -name '*.onnx' -printf '%s %p\n' | sort -n | cut -d' ' -f2-
		find "$LATHE_ZOO" -maxdepth 1 -name '*.weights' -printf '%s %p\n' | sort -n | cut -d' ' -f2- | sed 's/weights$/onnx/')
	set -- "${models[@]}"
fi
for model; do [[ -f $model ]] || die "there is no model $model"; done

export TARGETS=${TARGETS:-llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4;llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3;llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76;llvm -mtriple=armv7a-linux-gnueabihf -mcpu=cortex-a7;llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280;wasm32}
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
kept=${DIGESTS:-$root/build/digests}
mkdir -p "$kept"
work=$(mktemp -d)
objcopy=$("${LLVM_CONFIG:-/usr/lib/llvm-22/bin/llvm-config}" --bindir)/llvm-objcopy
export work objcopy
trap 'rm -rf "$work"' EXIT

# binary prints the path of a side's binary, which it builds of a commit or of the working tree (an empty name).
binary() {
	local from=$root
	if [[ -f $1 && -x $1 ]]; then realpath "$1"; return; fi
	if [[ -n $1 ]]; then
		from=$work/source.$2
		mkdir "$from"
		git -C "$root" archive "$1" | tar -x -C "$from" || die "there is no commit or binary $1"
	fi
	(cd "$from" && go build -trimpath -buildvcs=false -o "$work/lathe.$2" ./cmd/lathe)
	echo "$work/lathe.$2"
}

# name is that of the file that keeps a model's digests.
name() { echo "${1//\//%}"; }

# digest writes target and digest a line for each member of a model's packages, or why it is refused. Any other failure ends all.
digest() {
	local lathe=$1 done=$2 model=$3 target out member status at=$work/$BASHPID
	local -a targets
	IFS=';' read -r -a targets <<<"$TARGETS"
	for target in "${targets[@]}"; do
		out=$at.tar
		if [[ $target == wasm32 ]]; then out=$at.wasm; fi
		status=0
		"$lathe" compile --target "$target" -o "$out" "$model" >"$at.log" 2>&1 || status=$?
		if ((status == 4)); then
			echo "$target|refused: $(tail -n 1 "$at.log" | sed "s|$at||g")"
		elif ((status != 0)); then
			cat "$at.log" >&2
			return 1
		elif [[ $target == wasm32 ]]; then
			"$objcopy" --remove-section=lathe --remove-section=lathe.crc32c "$out" # the manifest, which tells of decisions too
			echo "$target|module $(sha256sum <"$out" | cut -c1-16)"
		else
			for member in mod.so mod.json mod.params; do
				echo "$target|$member $(tar -xOf "$out" $member | sha256sum | cut -c1-16)"
			done
		fi
	done >"$at.digests"
	mv "$at.digests" "$done/$(name "$model")"
	rm -f "$at".*
}
export -f digest name

# digests compiles the models that are not done yet, one core each.
digests() {
	local lathe=$1 done=$2 model
	shift 2
	mkdir -p "$done"
	for model; do [[ -f $done/$(name "$model") ]] || printf '%s\0' "$model"; done |
		GOMAXPROCS=1 xargs -0 -r -n 1 -P "${JOBS:-$(nproc)}" bash -c 'set -euo pipefail; digest "$@" || exit 255' digests "$lathe" "$done"
}

# place is where the digests of a binary are kept, apart for other targets.
place() { echo "$kept/$(cat "$1" <(echo "$TARGETS") | sha256sum | cut -c1-16)"; }

old=$(binary "${sides[0]}" old)
new=$(binary "${sides[1]:-}" new)
between="${sides[0]} and ${sides[1]:-the working tree}"
if cmp -s "$old" "$new"; then echo "digests: $between are the same program"; exit; fi
digests "$old" "$(place "$old")" "$@"
digests "$new" "$(place "$new")" "$@"
for side in old new; do
	at=$(place "${!side}")
	for model; do sed "s#^#$model|#" "$at/$(name "$model")"; done >"$work/$side.all"
done
count="$(wc -l <"$work/old.all") digests of $# models, $(grep -c '|refused: ' "$work/old.all" || true) of them refusals"
if diff "$work/old.all" "$work/new.all" >"$work/diff"; then
	echo "digests: $between: equal: $count"
else
	grep '^[<>]' "$work/diff"
	echo "digests: $between: $(grep '^[<>]' "$work/diff" | cut -d'|' -f1 | cut -c3- | sort -u | wc -l) models DIFFER: $count"
	exit 1
fi
