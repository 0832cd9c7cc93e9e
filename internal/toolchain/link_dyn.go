//go:build !llvmstatic

package toolchain

// lld exists as archives only and brings its own need of zlib and zstd.

// #cgo LDFLAGS: -L/usr/lib/llvm-22/lib -llldELF -llldWasm -llldCommon -lLLVM-22 -lz -lzstd -lstdc++
import "C"
