#!/usr/bin/env bash
# Installs what 'make deploytest' needs beyond building: emulators and C libraries of other architectures, and the tools
# of those who embed models. With everything in place it only looks.
set -euo pipefail

packages=(
	gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf gcc-riscv64-linux-gnu # compilers of the targets
	libc6-dev-arm64-cross libc6-dev-armhf-cross libc6-dev-riscv64-cross # and their C libraries, which those only recommend
	qemu-user-static
	clang gcc-arm-none-eabi # C source
	cmake libstb-dev valgrind # examples/cpp
	libdnnl2                  # external code generators
	nodejs chromium           # WebAssembly and examples/web
)

mapfile -t need < <(
	for p in "${packages[@]}"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || echo "$p"
	done
)
if [[ ${#need[@]} -eq 0 ]]; then
	exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
	command -v sudo >/dev/null || { echo "install-test-deps: these packages must be installed by root, and there is no sudo: ${need[*]}" >&2; exit 1; }
	as_root=(sudo)
fi
echo "install-test-deps: installing ${need[*]} with apt-get${as_root:+ as root through sudo}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${need[@]}"
