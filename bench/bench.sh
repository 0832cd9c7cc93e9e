#!/usr/bin/env bash
# Builds the benchmark and runs it with the given flags, after the peers to compare with, separated by blanks or commas:
#     bench/bench.sh "[onnxruntime] [onnxruntime-avx2] [torch] [none]" [-measure] [-models NAMES] [-threads NUMBERS] [-batch NUMBERS] [-repeat N] [-busy SHARE] [-gap 20ms]
#     bench/bench.sh none table RESULTS.json
#     bench/bench.sh onnxruntime fuzz [-seed N] [-cases N] [-time 1h] ...
#     bench/bench.sh onnxruntime sweep [-select FAMILY-OR-REGEXP] [-threads N] [-o RESULTS.json]
#     bench/bench.sh onnxruntime sweep -random N [-seed N] [-select ...] [-threads N]
#     bench/bench.sh none sweep -models DIR [-select FAMILY-OR-REGEXP]
#     bench/bench.sh none sweep diff OLD.json NEW.json
#     bench/bench.sh none sweep show RESULTS.json
#     bench/bench.sh none zoo [-o DIR] [NAME ...]
#     bench/bench.sh onnxruntime calibrate NAME ...
#     bench/bench.sh none tune [-models NAMES] [-seeds NUMBERS] [-trials N] [-time 1m] [-busy 0.5] [-pairs N] [-repeat N]
#     bench/bench.sh none quality [-models NAMES] [-random N] [-trials N] [-seed N] [-wrong [-networks NAMES] [-time 90s]]
# onnxruntime-avx2 is ONNX Runtime as on a processor without AVX-512, to compare with -target "llvm -mattr=-avx512f" where there is none.
# Files are named as seen from this folder. ONNX Runtime is installed from npm beside this script, once. PyTorch is Debian's
# python3-torch with python3-onnx: with "torch" it is installed by apt if it is missing; without a list of peers it takes part
# where it is there.
set -euo pipefail

version=1.30.0
python=/usr/bin/python3
here=$(cd "$(dirname "$0")" && pwd)

# onnxruntime prints the path of ONNX Runtime's library, which it installs if it is missing.
onnxruntime() {
	local arch dir=$here/.peers
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) echo "bench: no ONNX Runtime for $(uname -m); use PEER=none" >&2; return 1 ;;
	esac
	local file=$dir/node_modules/onnxruntime-node/bin/napi-v6/linux/$arch/libonnxruntime.so.1
	if [[ ! -f $file ]] || ! grep -qs "\"version\": \"$version\"" "$dir/node_modules/onnxruntime-node/package.json"; then
		mkdir -p "$dir"
		npm install --ignore-scripts --no-audit --no-fund --prefix "$dir" "onnxruntime-node@$version" >&2
	fi
	echo "$file"
}

# avx2 prints the path of a copy of ONNX Runtime's library by which the system keeps no registers of AVX-512: push 7; pop %rax stands for
# each xgetbv, which asks it.
avx2() {
	local file copy address offset places at
	file=$(onnxruntime) || return
	copy=$(dirname "$file")/libonnxruntime-avx2.so.1
	if [[ ! $copy -nt $file ]]; then
		places=$(objdump -d --no-show-raw-insn "$file" | awk '$2 == "xgetbv" {sub(":", "", $1); print $1}') || return
		if [[ -z $places ]]; then
			echo "bench: $file asks nowhere for the registers that the system keeps (xgetbv): nothing to compare as on AVX2" >&2
			return 1
		fi
		read -r address offset < <(readelf -SW "$file" | awk '$2 == ".text" || $3 == ".text" {for (i = 1; i < NF; i++) if ($i == "PROGBITS") print $(i + 1), $(i + 2)}')
		cp "$file" "$copy.new"
		for at in $places; do
			printf '\x6a\x07\x58' | dd of="$copy.new" bs=1 seek=$((16#$at - 16#$address + 16#$offset)) conv=notrunc status=none || return
		done
		mv "$copy.new" "$copy"
	fi
	echo "$copy"
}

has_torch() { $python -c 'import torch, onnx, numpy' 2>/dev/null; }

# torch prints the interpreter that has PyTorch, which it installs if it is missing. Its matrix products need OpenBLAS.
torch() {
	if ! has_torch; then
		local sudo=
		[[ $(id -u) == 0 ]] || sudo=sudo
		$sudo apt-get install -y --no-install-recommends python3-torch python3-onnx python3-numpy libopenblas0-openmp >&2
	fi
	echo $python
}

peers=${1//,/ }
shift
if [[ -z $peers ]]; then
	peers=onnxruntime
	! has_torch || peers+=" torch"
fi
list=()
for p in $peers; do
	case $p in
	onnxruntime | torch) list+=("$p=$($p)") ;;
	onnxruntime-avx2) list+=("onnxruntime=$(avx2)") ;;
	none) ;;
	*) echo "bench: no peer is named $p: there are onnxruntime, onnxruntime-avx2, torch and none" >&2; exit 2 ;;
	esac
done

cd "$here"
go build -o .bin/ ./...
if [[ ${1-} == fuzz ]]; then
	shift
	exec .bin/fuzz -library "$(onnxruntime)" "$@"
fi
if [[ ${1-} == calibrate ]]; then
	shift
	exec .bin/calibrate -library "$(onnxruntime)" "$@"
fi
case ${1-} in
table | zoo | tune | quality) exec .bin/bench "$@" ;;
sweep)
	shift
	[[ ${1-} != diff && ${1-} != show ]] || exec .bin/bench sweep "$@"
	exec .bin/bench sweep -peers "${list[*]-}" "$@"
	;;
esac
exec .bin/bench -peers "${list[*]-}" "$@"
