package cpu

// ARM is 32-bit ARMv7-A and ARMv8-A. The word beside HWCAP holds what follows from other facts: the kernel has no bit for
// conversions of half precision, which every VFPv4 has and the Cortex-A9, nor for the floating point of ARMv8, which is where
// its other instructions are.
var ARM = Table{
	Arch: "arm",
	// Of ARMv8 the kernel tells no more than its floating point, which code for it needs.
	Base: []string{
		"a15", "a17", "a53", "a7", "a72", "a8", "a9", "aclass", "acquire-release", "armv7-a", "armv8-a", "d32", "db", "dsp", "fp-armv8d16",
		"fp-armv8d16sp", "fp-armv8sp", "fp64", "fpao", "fpregs", "fpregs64", "mp", "neon-fpmovs", "perfmon", "thumb2", "trustzone", "v4t", "v5t",
		"v5te", "v6", "v6k", "v6m", "v6t2", "v7", "v7clrex", "v8", "v8m", "vfp2", "vfp2sp", "vfp3d16", "vfp3d16sp", "vfp3sp", "vfp4d16",
		"vfp4d16sp", "vfp4sp", "virtualization",
	},
	Tuning: []string{
		"avoid-", "cheap-", "disable-", "dont-", "expand-", "fix-", "fuse-", "harden-", "loop-align", "muxed-units", "no-", "nonpipelined-vfp", "prefer-",
		"prof-unpr", "reserve-", "ret-addr-stack", "slow", "splat-vfp-neon", "use-", "vldn-align", "vmlx-", "wide-stride-vfp", "zcz",
	},
	Rows: []Feature{
		{"neon", "vfp3", hwcap, 12, 0, true},
		{"vfp3", "", hwcap, 13, 0, true},
		{"vfp4", "fp16 vfp3", hwcap, 16, 0, true},
		{"hwdiv-arm", "", hwcap, 17, 0, true},
		{"hwdiv", "", hwcap, 18, 0, true},
		{"aes", "neon", hwcap2, 1, 0, false}, // the kernel's PMULL
		{"sha2", "neon", hwcap2, 3, 0, false},
		{"crc", "", hwcap2, 4, 0, false},
		{"fp16", "", other, 0, 0, true},
		{"fp-armv8", "vfp4", other, 1, 0, true},
	},
}
