//go:build !llvmstatic

package toolchain

// liblldELF exists as an archive only and brings its own need of zlib and zstd.

// #cgo LDFLAGS: -L/usr/lib/llvm-22/lib -llldELF -llldCommon -lLLVM-22 -lz -lzstd -lstdc++
import "C"
