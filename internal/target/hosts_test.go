package target

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lathe/internal/cpu"
	"lathe/internal/isa"
	"lathe/internal/isa/aarch64"
	"lathe/internal/isa/riscv"
)

// Machines of other architectures go by their kernel: a core with a name that fits, one whose features are hidden, cores of two
// kinds, and vectors of RISC-V.
func TestHostsByKernel(t *testing.T) {
	files := func(pairs ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		}
		return m
	}
	const first = "sys/devices/system/cpu/cpu0/"
	core := func(part string) string {
		return "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: " + part + "\n\n"
	}
	bits := func(table *isa.Table, names string) []uint64 {
		words := make([]uint64, 3)
		for name := range strings.FieldsSeq(names) {
			words[table.Row(name).Word] |= 1 << table.Row(name).Bit
		}
		return words
	}
	const a76 = "fp-armv8 neon aes sha2 crc lse fullfp16 rdm rcpc dotprod"
	for _, c := range []struct {
		table  *isa.Table
		words  string
		root   fstest.MapFS
		triple string
		want   string
	}{
		{&aarch64.Features, a76, files("proc/cpuinfo", core("0xd0b")+core("0xd0b"),
			first+"cache/index0/level", "1\n", first+"cache/index0/type", "Data\n", first+"cache/index0/size", "64K\n",
			first+"cache/index1/level", "1\n", first+"cache/index1/type", "Instruction\n", first+"cache/index1/size", "32K\n",
			first+"cache/index2/level", "2\n", first+"cache/index2/size", "512K\n", first+"cache/index2/shared_cpu_list", "0\n",
			first+"cache/index3/level", "3\n", first+"cache/index3/size", "2M\n", first+"cache/index3/shared_cpu_list", "0-3\n",
			first+"cpufreq/cpuinfo_max_freq", "2400000\n"),
			"aarch64-linux-gnu", "-mcpu=cortex-a76 -caches=64,512,512 -clock=2400"},
		{&aarch64.Features, a76, files("proc/cpuinfo", core("0xd05")+core("0xd0b"), first+"cpufreq/cpuinfo_max_freq", "1800000\n"),
			"aarch64-linux-gnu", "-mcpu=generic -mattr=+dotprod,+fullfp16,+lse,+rdm"},
		{&aarch64.Features, "fp-armv8 neon", files("proc/cpuinfo", core("0xd0b")), "aarch64-linux-gnu", "-mcpu=generic"},
		{&aarch64.Features, "fp-armv8 neon", files(), "aarch64-linux-gnu", "-mcpu=generic"},
		{&aarch64.Features, "fp-armv8 neon aes crc", files("proc/cpuinfo", core("0xd08"), first+"cache/index0/size", "huge"), "aarch64-linux-gnu", "-mcpu=cortex-a72"},
		{&riscv.Features, "m a f d c v zba zbb zvl128b zvl256b", files(), "riscv64-linux-gnu", "-mcpu=generic-rv64 -mattr=+v,+zba,+zbb,+zvl128b,+zvl256b"},
		{&riscv.Features, "m a f d c zvl128b", files(), "riscv64-linux-gnu", "-mcpu=generic-rv64"}, // lengths of no vectors
	} {
		m := cpu.FromLinux(c.table, bits(c.table, c.words), c.root)
		s, err := Parse("llvm -num-cores=1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Resolve(func() (Host, error) { return Host{Triple: c.triple, Machine: m, Cores: 1}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := "llvm -mtriple=" + c.triple + " " + c.want + " -num-cores=1"; got.String() != want {
			t.Errorf("%s: got  %s\nwant %s", c.words, got, want)
		}
		if has := m.Code(m.Set()); !slices.Equal(has, got.Features) {
			t.Errorf("%s: the machine has %v, the target %v", c.words, has, got.Features)
		}
	}
	s, err := Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	m := cpu.FromLinux(&aarch64.Features, nil, files())
	if _, err := s.Resolve(func() (Host, error) { return Host{Triple: "x86_64-linux-gnu", Machine: m}, nil }); err == nil || !strings.Contains(err.Error(), "name a CPU with -mcpu") {
		t.Errorf("a machine of another architecture than the compiler's: %v", err)
	}
}
