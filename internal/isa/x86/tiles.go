package x86

import (
	"encoding/binary"

	"lathe/internal/isa"
)

// tiles are those of AMX: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18. Cycles are those of Intel's
// optimization reference manual, chapter on AMX.
var tiles = isa.Tiles{
	Feature:   "amx-int8",
	Registers: 8, Rows: 16, RowBytes: 64,
	Configuration: configuration,
	Configure:     "x86.ldtilecfg", Release: "x86.tilerelease", Zero: "x86.tilezero", Load: "x86.tileloadd64", Store: "x86.tilestored64",
	Products: []isa.Dot{
		{A: "uint8", B: "int8", Name: "x86.tdpbusd"},
		{A: "int8", B: "uint8", Name: "x86.tdpbsud"},
		{A: "int8", B: "int8", Name: "x86.tdpbssd"},
		{A: "uint8", B: "uint8", Name: "x86.tdpbuud"},
	},
	ProductCycles: 16, LoadCycles: 8, Latency: 52,
}

// configuration is the operand of LDTILECFG for palette 1.
func configuration(shapes [][2]int) []byte {
	const palette, rowBytes, rows = 0, 16, 48
	b := make([]byte, 64)
	b[palette] = 1
	for i, s := range shapes {
		b[rows+i] = byte(s[0])
		binary.LittleEndian.PutUint16(b[rowBytes+2*i:], uint16(s[1]))
	}
	return b
}
