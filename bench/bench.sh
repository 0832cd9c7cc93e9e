#!/usr/bin/env bash
# Builds the benchmark and runs it with the given flags. Where they say -peer onnxruntime, ONNX Runtime is installed from npm
# beside this script, once:
#     bench/bench.sh [-measure] [-models NAMES] [-threads NUMBERS] [-repeat N] [-peer onnxruntime|none|FILE]
set -euo pipefail

version=1.30.0
here=$(cd "$(dirname "$0")" && pwd)

# library prints the path of ONNX Runtime's library, which it installs if it is missing.
library() {
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

flags=()
while [[ $# -gt 0 ]]; do
	if [[ $1 == -peer && $# -gt 1 ]]; then
		peer=$2
		[[ $peer != onnxruntime ]] || peer=$(library)
		flags+=(-peer "$peer")
		shift 2
	else
		flags+=("$1")
		shift
	fi
done

cd "$here"
go build -o .bin/ ./...
exec .bin/bench ${flags[@]+"${flags[@]}"}
