package cpu

// RISCV64 is 64-bit RISC-V. The first word has a bit for each letter, the second the bits of the hardware probe
// (RISCV_HWPROBE_KEY_IMA_EXT_0), the third those of vectors of at least 32 << bit bits. Vectors and their least length come
// together: LLVM takes neither without the other.
var RISCV64 = Table{
	Arch: "riscv64",
	Base: []string{
		"64bit", "b", "i", "zaamo", "zalrsc", "zca", "zcd", "zicsr", "zifencei", "zmmul", "zve32f", "zve32x", "zve64d", "zve64f", "zve64x", "zvfhmin",
		"zvl32b", "zvl64b",
	},
	Tuning: []string{"disable-", "dlen-", "no-", "optimized-", "predictable-", "prefer-", "relax", "reserve-", "tagged-globals", "unaligned-", "use-"},
	Rows: []Feature{
		{"a", "", hwcap, 0, 0, true},
		{"c", "", hwcap, 2, 0, true},
		{"d", "f", hwcap, 3, 0, true},
		{"f", "", hwcap, 5, 0, true},
		{"m", "", hwcap, 12, 0, true},
		{"v", "d zvl128b", hwcap, 21, 0, true},
		{"zba", "", hwcap2, 3, 0, true},
		{"zbb", "", hwcap2, 4, 0, true},
		{"zbs", "", hwcap2, 5, 0, true},
		{"zbc", "", hwcap2, 7, 0, false},
		{"zvbb", "v", hwcap2, 17, 0, false},
		{"zfh", "zfhmin", hwcap2, 27, 0, true},
		{"zfhmin", "f", hwcap2, 28, 0, true},
		{"zvfh", "v zfhmin", hwcap2, 30, 0, true},
		{"zvl128b", "v", other, 2, 0, true},
		{"zvl256b", "zvl128b", other, 3, 0, true},
		{"zvl512b", "zvl256b", other, 4, 0, true},
		{"zvl1024b", "zvl512b", other, 5, 0, true},
	},
}
