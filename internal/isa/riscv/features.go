package riscv

import "lathe/internal/isa"

// Features is what 64-bit RISC-V has. The first word has a bit for each letter, the second the bits of the hardware probe
// (RISCV_HWPROBE_KEY_IMA_EXT_0), the third those of vectors of at least 32 << bit bits. Vectors and their least length come
// together: LLVM takes neither without the other.
var Features = isa.Table{
	Arch: "riscv64", Triple: "riscv64-linux-gnu", Generic: "generic-rv64",
	Base: []string{
		"64bit", "b", "i", "zaamo", "zalrsc", "zca", "zcd", "zicsr", "zifencei", "zmmul", "zve32f", "zve32x", "zve64d", "zve64f", "zve64x", "zvfhmin",
		"zvl32b", "zvl64b",
	},
	Tuning: []string{"disable-", "dlen-", "no-", "optimized-", "predictable-", "prefer-", "relax", "reserve-", "tagged-globals", "unaligned-", "use-"},
	Rows: []isa.Feature{
		{Name: "a", Word: isa.HWCAP, Bit: 0, Code: true},
		{Name: "c", Word: isa.HWCAP, Bit: 2, Code: true},
		{Name: "d", Needs: "f", Word: isa.HWCAP, Bit: 3, Code: true},
		{Name: "f", Word: isa.HWCAP, Bit: 5, Code: true},
		{Name: "m", Word: isa.HWCAP, Bit: 12, Code: true},
		{Name: "v", Needs: "d zvl128b", Word: isa.HWCAP, Bit: 21, Code: true},
		{Name: "zba", Word: isa.HWCAP2, Bit: 3, Code: true},
		{Name: "zbb", Word: isa.HWCAP2, Bit: 4, Code: true},
		{Name: "zbs", Word: isa.HWCAP2, Bit: 5, Code: true},
		{Name: "zbc", Word: isa.HWCAP2, Bit: 7},
		{Name: "zvbb", Needs: "v", Word: isa.HWCAP2, Bit: 17},
		{Name: "zfh", Needs: "zfhmin", Word: isa.HWCAP2, Bit: 27, Code: true},
		{Name: "zfhmin", Needs: "f", Word: isa.HWCAP2, Bit: 28, Code: true},
		{Name: "zvfh", Needs: "v zfhmin", Word: isa.HWCAP2, Bit: 30, Code: true},
		{Name: "zvl128b", Needs: "v", Word: isa.Other, Bit: 2, Code: true},
		{Name: "zvl256b", Needs: "zvl128b", Word: isa.Other, Bit: 3, Code: true},
		{Name: "zvl512b", Needs: "zvl256b", Word: isa.Other, Bit: 4, Code: true},
		{Name: "zvl1024b", Needs: "zvl512b", Word: isa.Other, Bit: 5, Code: true},
	},
}
