package arm

import "lathe/internal/isa"

// Features is what 32-bit ARMv7-A and ARMv8-A have. The word beside HWCAP holds what follows from other facts: the kernel has no bit for
// conversions of half precision, which every VFPv4 has and the Cortex-A9, nor for the floating point of ARMv8, which is where
// its other instructions are.
var Features = isa.Table{
	Arch: "arm", Triple: "armv7-linux-gnueabihf", Generic: "generic",
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
	Rows: []isa.Feature{
		{Name: "neon", Needs: "vfp3", Word: isa.HWCAP, Bit: 12, Code: true},
		{Name: "vfp3", Word: isa.HWCAP, Bit: 13, Code: true},
		{Name: "vfp4", Needs: "fp16 vfp3", Word: isa.HWCAP, Bit: 16, Code: true},
		{Name: "hwdiv-arm", Word: isa.HWCAP, Bit: 17, Code: true},
		{Name: "hwdiv", Word: isa.HWCAP, Bit: 18, Code: true},
		{Name: "aes", Needs: "neon", Word: isa.HWCAP2, Bit: 1}, // the kernel's PMULL
		{Name: "sha2", Needs: "neon", Word: isa.HWCAP2, Bit: 3},
		{Name: "crc", Word: isa.HWCAP2, Bit: 4},
		{Name: "fp16", Word: isa.Other, Bit: 0, Code: true},
		{Name: "fp-armv8", Needs: "vfp4", Word: isa.Other, Bit: 1, Code: true},
	},
}
