#!/usr/bin/env bash
# Installs what building needs and is missing: LLVM 22 and lld 22 as libraries, zlib, zstd and a C++ compiler.
# With everything in place it only looks, in a fraction of a second. LLVM_CONFIG names another LLVM 22 than Debian's.
set -euo pipefail

llvm_config=${LLVM_CONFIG:-/usr/lib/llvm-22/bin/llvm-config}

fail() {
	printf 'install-deps: %s\n' "$@" >&2
	exit 1
}

has_header() {
	printf '#include <%s>\n' "$2" | c++ -E -x c++ -I"$1" - >/dev/null 2>&1
}

# missing prints the Debian packages that are needed and absent.
missing() {
	command -v c++ >/dev/null || echo g++
	local include=''
	if [[ $("$llvm_config" --version 2>/dev/null) == 22.* ]]; then
		include=$("$llvm_config" --includedir)
	fi
	[[ -n $include && -e $include/llvm-c/Core.h ]] || echo llvm-22-dev
	[[ -n $include && -e $include/lld/Common/Driver.h ]] || echo liblld-22-dev
	has_header . zlib.h || echo zlib1g-dev
	has_header . zstd.h || echo libzstd-dev
}

command -v go >/dev/null || fail 'Go is not installed: get it from https://go.dev/dl/ (go.mod names the version)'

mapfile -t need < <(missing)
if [[ ${#need[@]} -eq 0 ]]; then
	exit 0
fi
if [[ -n ${LLVM_CONFIG:-} && " ${need[*]} " == *llvm-22-dev* ]]; then
	fail "LLVM_CONFIG=$LLVM_CONFIG is not the llvm-config of an LLVM 22 with headers"
fi
if ! command -v apt-get >/dev/null; then
	fail "needed and not found (by Debian's names): ${need[*]}" \
		'This system has no apt-get. Install LLVM 22 and lld 22 with their development files, zlib and zstd by its own' \
		'means, then run make with LLVM_CONFIG=/path/to/llvm-config.'
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
	command -v sudo >/dev/null || fail "these packages must be installed by root, and there is no sudo: ${need[*]}"
	as_root=(sudo)
fi

echo "install-deps: installing ${need[*]} with apt-get${as_root:+ as root through sudo} (LLVM takes about 1.4 GB)"
"${as_root[@]}" apt-get update -qq
for package in "${need[@]}"; do
	apt-cache show "$package" >/dev/null 2>&1 || fail "this system's package sources have no $package." \
		'Debian 12 has LLVM 22 in bookworm-security; for other releases add the source described at https://apt.llvm.org' \
		'(bash -c "$(wget -O - https://apt.llvm.org/llvm.sh)" llvm.sh 22) and run this again.'
done
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${need[@]}"

mapfile -t need < <(missing)
[[ ${#need[@]} -eq 0 ]] || fail "still missing after the installation: ${need[*]}"
