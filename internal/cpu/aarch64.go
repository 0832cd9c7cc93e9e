package cpu

// Words of the systems whose kernel tells features: AT_HWCAP and AT_HWCAP2 of the auxiliary vector, which are right under an
// emulator too, and one that is read elsewhere.
const (
	hwcap = iota
	hwcap2
	other
)

// AArch64 is 64-bit Arm. Rows without code are sets for functions of their own (cryptography, JavaScript), SVE, whose length
// schedules do not know, and what is too new to have been tried.
var AArch64 = Table{
	Arch: "aarch64",
	Tuning: []string{
		"addr-", "aggressive-", "alternate-", "alu-", "arith-", "ascend-store-address", "avoid-", "balance-", "bti", "cmp-", "disable-",
		"enable-", "exynos-", "fuse-", "harden-", "ldp-", "no-", "outline-atomics", "predictable-", "prefer-", "reserve-", "slow-",
		"store-pair-suppress", "stp-", "strict-align", "tagged-globals", "use-", "zcm", "zcz",
	},
	Rows: []Feature{
		{"fp-armv8", "", hwcap, 0, 0, true},
		{"neon", "fp-armv8", hwcap, 1, 0, true},
		{"aes", "neon", hwcap, 4, 0, false},
		{"sha2", "neon", hwcap, 6, 0, false},
		{"crc", "", hwcap, 7, 0, false},
		{"lse", "", hwcap, 8, 0, true},
		{"fullfp16", "fp-armv8", hwcap, 10, 0, true},
		{"rdm", "neon", hwcap, 12, 0, true},
		{"jsconv", "", hwcap, 13, 0, false},
		{"complxnum", "", hwcap, 14, 0, false},
		{"rcpc", "", hwcap, 15, 0, false},
		{"sha3", "sha2", hwcap, 17, 0, false},
		{"sm4", "neon", hwcap, 19, 0, false},
		{"dotprod", "neon", hwcap, 20, 0, true},
		{"sve", "fullfp16", hwcap, 22, 0, false},
		{"fp16fml", "fullfp16", hwcap, 23, 0, true},
		{"rcpc-immo", "", hwcap, 26, 0, false},
		{"flagm", "", hwcap, 27, 0, false},
		{"sve2", "sve", hwcap2, 1, 0, false},
		{"sve-aes", "", hwcap2, 2, 0, false},
		{"sve2-aes", "sve2 aes", hwcap2, 2, 0, false},
		{"sve-bitperm", "", hwcap2, 4, 0, false},
		{"sve2-bitperm", "sve2", hwcap2, 4, 0, false},
		{"sve-sha3", "", hwcap2, 5, 0, false},
		{"sve2-sha3", "sve2 sha3", hwcap2, 5, 0, false},
		{"sve-sm4", "", hwcap2, 6, 0, false},
		{"sve2-sm4", "sve2 sm4", hwcap2, 6, 0, false},
		{"altnzcv", "", hwcap2, 7, 0, false},
		{"fptoint", "", hwcap2, 8, 0, false},
		{"f32mm", "sve", hwcap2, 10, 0, false},
		{"f64mm", "sve", hwcap2, 11, 0, false},
		{"i8mm", "neon", hwcap2, 13, 0, true},
		{"bf16", "neon", hwcap2, 14, 0, true},
		{"sme", "bf16 fullfp16", hwcap2, 23, 0, false},
		{"sme-i16i64", "sme", hwcap2, 24, 0, false},
		{"sme-f64f64", "sme", hwcap2, 25, 0, false},
		{"cssc", "", hwcap2, 34, 0, false},
		{"sve2p1", "sve2", hwcap2, 36, 0, false},
		{"sme2", "sme", hwcap2, 37, 0, false},
		{"sme2p1", "sme2", hwcap2, 38, 0, false},
		{"sme-b16b16", "sme2", hwcap2, 41, 0, false},
		{"sme-f16f16", "sme2", hwcap2, 42, 0, false},
		{"mops", "", hwcap2, 43, 0, false},
		{"sve-b16b16", "", hwcap2, 45, 0, false},
		{"rcpc3", "", hwcap2, 46, 0, false},
		{"lut", "", hwcap2, 49, 0, false},
		{"faminmax", "", hwcap2, 50, 0, false},
		{"fp8", "", hwcap2, 51, 0, false},
		{"fp8fma", "", hwcap2, 52, 0, false},
		{"fp8dot4", "", hwcap2, 53, 0, false},
		{"fp8dot2", "", hwcap2, 54, 0, false},
	},
}
