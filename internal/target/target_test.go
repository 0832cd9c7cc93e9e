package target

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lathe/internal/testkit/cputest"
	"lathe/internal/testkit/golden"
)

func noHost() (Host, error) { return Host{}, errors.New("the host must not be asked") }

// vm is a virtual machine that hides a feature of its CPU, and shows one more.
func vm() (Host, error) {
	r := *recording("skylake-x")
	r.Leaves = maps.Clone(r.Leaves)
	leaf := r.Leaves[[2]uint32{7, 0}]
	leaf[1] &^= 1 << 30 // avx512bw
	leaf[2] |= 1 << 11  // avx512vnni
	r.Leaves[[2]uint32{7, 0}] = leaf
	return Host{Triple: "x86_64-pc-linux-gnu", Machine: r.Machine(^uint64(0)), Cores: 3}, nil
}

func recording(name string) *cputest.Recording {
	for _, r := range cputest.Recordings() {
		if r.Name == name {
			return r
		}
	}
	panic(name)
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		text      string
		canonical string
		bits      int
		regs      int
		fma       bool
		has, not  string
	}{
		{"llvm -mtriple=x86_64-linux-gnu", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -num-cores=4", 128, 16, false, "", "avx sse4.2"},
		{"llvm -mcpu=core-avx2", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=core-avx2 -num-cores=4", 256, 16, true, "avx2 fma sse3 f16c", "avx512f"},
		{"llvm", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512cd,+avx512dq,+avx512f,+avx512vl,+avx512vnni -caches=32,1024,1408 -clock=3650 -l3-rate=8 -memory-rate=13000 -num-cores=3", 512, 32, true, "avx512f avx512vnni fma", "avx512bw"},
		{"llvm -mcpu=native -num-cores=1", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512cd,+avx512dq,+avx512f,+avx512vl,+avx512vnni -caches=32,1024,1408 -clock=3650 -l3-rate=8 -memory-rate=13000 -num-cores=1", 512, 32, true, "", "avx512bw"},
		{"llvm -mcpu=native -mattr=-avx512f -caches=32,256,0 -clock=1000 -datapath=128", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr=+avx512cd,+avx512dq,+avx512f,+avx512vl,+avx512vnni,-avx512f -caches=32,256,0 -clock=1000 -datapath=128 -l3-rate=8 -memory-rate=13000 -num-cores=3", 256, 16, true, "avx2", "avx512f"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=znver5 -caches=48,1024,4096 -clock=4100 -datapath=512", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5 -num-cores=4", 512, 32, true, "", ""},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f -num-cores=4", 256, 16, true, "avx2 gfni", "avx512f avx512vl avx512bf16"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx512bw", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx512bw -num-cores=4", 512, 32, true, "avx2 fma ssse3", "avx512vl"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+prefer-256-bit", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+prefer-256-bit -num-cores=4", 256, 32, true, "avx512f", ""},
		{"llvm -mtriple=aarch64-linux-gnu", "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -num-cores=4", 128, 32, true, "neon", "dotprod"},
		{"llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod", "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -mattr=+neon,+dotprod -num-cores=4 -device=arm_cpu", 128, 32, true, "dotprod", ""},
		{"raspberry-pi/4b-aarch64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4", 128, 32, true, "neon", "aes sha2 crc"},
		{"raspberry-pi-5 -num-cores=2", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -num-cores=2", 128, 32, true, "dotprod", ""},
		{"llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon", "llvm -mtriple=armv7l-linux-gnueabihf -mcpu=generic -mattr=-neon -num-cores=4", 128, 8, false, "vfp3", "neon"},
		{"llvm -mtriple=riscv64-linux-gnu", "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -num-cores=4", 128, 8, true, "d", "v"},
		{"llvm -mtriple=riscv64-linux-gnu -mcpu=spacemit-x60", "llvm -mtriple=riscv64-linux-gnu -mcpu=spacemit-x60 -num-cores=4", 256, 32, true, "v zvl128b", ""},
		{"wasm32", "llvm -mtriple=wasm32-unknown-unknown -mcpu=generic -mattr=+simd128 -num-cores=1", 128, 16, false, "simd128 sign-ext", "relaxed-simd"},
		{"llvm -mtriple=wasm32-unknown-unknown -mattr=+relaxed-simd", "llvm -mtriple=wasm32-unknown-unknown -mcpu=generic -mattr=+relaxed-simd -num-cores=4", 128, 16, true, "simd128", ""},
		{`{"kind":"llvm","mcpu":"haswell","mattr":["+avx512f","-fma"],"num-cores":2,"tag":"","keys":["cpu"],"host":null,"fast-math":false}`,
			"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -mattr=+avx512f,-fma -num-cores=2 -keys=cpu", 256, 16, false, "avx2", "fma avx512f"},
		{`{"tag":"aws/cpu/c5.large"}`, "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1", 512, 32, true, "", ""},
		{"llvm -mtriple=aarch64-linux-gnu -memory-rate=12000 -fma-units=4 -fma-latency=2 -load-units=3 -l2-rate=32 -l3-rate=8", "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -fma-units=4 -fma-latency=2 -load-units=3 -l2-rate=32 -memory-rate=12000 -num-cores=4", 128, 32, true, "", ""},
		{"dnnl -select=all -fast, a.b-c, llvm -mtriple=riscv64-linux-gnu", "dnnl -select=all -fast, a.b-c, llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -num-cores=4", 128, 8, true, "d", "v"},
		{`[{"kind":"vitis-ai","dpu":"a, b","fast":true}, "c"]`, `vitis-ai -dpu="a, b" -fast=1, c`, 0, 16, false, "", ""},
		{"c", "c", 0, 16, false, "", "neon"},
		{"c -model=stm32f4 -mcpu=cortex-m4 -device=micro", "c -model=stm32f4 -mcpu=cortex-m4 -device=micro", 0, 16, false, "", ""},
		{`{"kind":"c","keys":["arm_cpu","cpu"],"mcpu":"cortex-m7"}`, "c -keys=arm_cpu,cpu -mcpu=cortex-m7", 0, 16, false, "", ""},
		{`"llvm -mtriple=x86_64-linux-gnu -mcpu=znver2 -model='a b'"`, `llvm -mtriple=x86_64-linux-gnu -mcpu=znver2 -num-cores=4 -model="a b"`, 256, 16, true, "", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			s, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Resolve(vm)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != c.canonical {
				t.Errorf("canonical\n got %s\nwant %s", got, c.canonical)
			}
			if got.VectorBits != c.bits || got.VectorRegs != c.regs || got.HasFMA != c.fma {
				t.Errorf("%d bits, %d registers, FMA %t; want %d, %d, %t", got.VectorBits, got.VectorRegs, got.HasFMA, c.bits, c.regs, c.fma)
			}
			for f := range strings.FieldsSeq(c.has) {
				if !got.Has(f) {
					t.Errorf("lacks %s: %v", f, got.Features)
				}
			}
			for f := range strings.FieldsSeq(c.not) {
				if got.Has(f) {
					t.Errorf("has %s", f)
				}
			}
			again, err := Parse(got.String())
			if err != nil {
				t.Fatal(err)
			}
			same, err := again.Resolve(noHost)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, same) {
				t.Errorf("the canonical string gives another target:\n%+v\n%+v", got, same)
			}
		})
	}
}

// TestHosts pins the targets of recorded machines, each also as systems leave it that enable less. Code for a machine may
// contain what the machine has, no more and no less, and a name stands for no feature that it has not.
func TestHosts(t *testing.T) {
	s, err := Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, r := range cputest.Recordings() {
		fmt.Fprintf(&b, "%s\n", r.Name)
		last := ""
		for _, mask := range cputest.Masks {
			m := r.Machine(mask.Keep)
			got, err := s.Resolve(func() (Host, error) { return Host{Triple: "x86_64-linux-gnu", Machine: m, Cores: 2}, nil })
			if err != nil {
				t.Fatalf("%s %s: %v", r.Name, mask.Name, err)
			}
			if has := m.Code(m.Set()); !slices.Equal(got.Features, has) {
				t.Errorf("%s %s: the target has %v, the machine %v", r.Name, mask.Name, got.Features, has)
			}
			spec, err := Parse(got.String())
			if err != nil {
				t.Fatal(err)
			}
			if again, err := spec.Resolve(noHost); err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("%s %s: elsewhere %s is another target: %v", r.Name, mask.Name, got, err)
			}
			if text := got.String(); text != last {
				fmt.Fprintf(&b, "\t%s%.1f and %.1f GFLOP/s: %s\n", mask.Name+strings.Repeat(" ", 16-len(mask.Name)), got.Speed().Float32, got.Speed().Int8, text)
				last = text
			}
		}
	}
	golden.Check(t, "hosts", b.Bytes())
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{"cuda", "target kind cuda is not supported yet"},
		{"cuda -arch=sm_80, llvm", "target kind cuda is not supported yet"},
		{"llvm, cuda", "target kind cuda is not supported yet"},
		{"compute-library", "write \"compute-library, llvm\""},
		{"llvm -mcpu=haswell, dnnl", `write "dnnl, llvm"`},
		{"llvm, c", "llvm is no external code generator"},
		{"a/b, llvm", "cannot be the name"},
		{"dnnl -x=, llvm", "option -x has no value"},
		{"dnnl -x=1 -x, llvm", "option -x is given twice"},
		{"dnnl x, llvm", `stray word "x"`},
		{"dnnl, dnnl, llvm", "dnnl is given twice"},
		{"nvidia/geforce-rtx-3090", "is a GPU, and GPUs are not supported yet ('lathe targets'"},
		{"pixel2", `unknown target kind "pixel2" ('lathe targets' lists`},
		{"llvm -march=skylake", "unknown option -march of llvm; did you mean -mcpu=skylake?"},
		{"llmv", `unknown target kind "llmv"; did you mean llvm?`},
		{"llvm, llvm", "llvm is given twice"},
		{"llvm,", "ends with a comma"},
		{"llvm -mcpu=znver4 -mcpu=znver3", "option -mcpu is given twice"},
		{"c -mcup=cortex-m4", "unknown option -mcup of c; did you mean mcpu?"},
		{"c -workspace-byte-alignment=16", "option -workspace-byte-alignment is not supported: the source aligns it to 8 bytes"},
		{"llvm -mcup=znver4", "unknown option -mcup of llvm; did you mean mcpu?"},
		{"llvm -mcpu", "option -mcpu has no value"},
		{"llvm -mcpu skylake", "option -mcpu has no value"},
		{"llvm skylake", `stray word "skylake"`},
		{"-mcpu=skylake", "a target starts with its kind"},
		{"llvm -mattr='+avx", "not closed"},
		{"llvm -mattr=avx2", `write "+avx2" to add`},
		{"llvm -mcpu=skylake-avx521", "did you mean skylake-avx512?"},
		{"llvm -mcpu=cortex-a72", "add -mtriple=aarch64-linux-gnu"},
		{"llvm -mtriple=sparc-linux", `architecture "sparc" is not supported yet`},
		{"llvm -mtriple=aarch64-linux-gnu -mcpu=native", "the triple is aarch64-linux-gnu"},
		{"llvm -mtriple=riscv64-linux-gnu -mattr=-d", "CPU generic-rv64 without feature d"},
		{"llvm -mtriple=aarch64-apple-darwin", "only for Linux"},
		{"llvm -mtriple=x86_64-pc-windows-msvc -mcpu=znver4", "only for Linux"},
		{"llvm -num-cores=0", "from 1 to 4096"},
		{"llvm -caches=32", "three numbers of KiB"},
		{"llvm -caches=32,512,0,1", "three numbers of KiB"},
		{"llvm -caches=32,-1,0", "three numbers of KiB"},
		{"llvm -caches=32,99999999,0", "three numbers of KiB"},
		{"llvm -clock=0", "from 1 to 100000"},
		{"llvm -fma-units=0", "from 1 to 64"},
		{"llvm -datapath=wide", "from 32 to 65536"},
		{"llvm -opt-level=4", "1, 2 or 3"},
		{"llvm --fast-math", "-O4 allows less"},
		{"llvm -fast-math=maybe", "must be 0 or 1"},
		{"llvm -jit=orcjit", "does not execute"},
		{`{"kind":"llvm"`, "JSON"},
		{`{"mcpu":"x"}`, `no "kind"`},
		{`{"kind":"cuda","arch":"sm_80"}`, "target kind cuda is not supported yet"},
		{`{"kind":"llvm","host":{"kind":"llvm"}}`, `"host"`},
		{`{"kind":"llvm","mattr":[1]}`, "something else than strings"},
		{`{"tag":"aws/cpu/c5.lrage"}`, "did you mean aws/cpu/c5.large"},
		{`[]`, "empty list"},
		{`["llvm","cuda"]`, "target kind cuda is not supported yet"},
		{`"{}"`, "not a plain target"},
	} {
		t.Run(c.text, func(t *testing.T) {
			s, err := Parse(c.text)
			if err == nil {
				_, err = s.Resolve(vm)
			}
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	s, err := Parse("llvm -mcpu=haswell")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range [][2]string{{"mcpu", "znver3"}, {"mattr", "+fma,+avx2"}} {
		if err := s.Set(o[0], o[1]); err != nil {
			t.Fatal(err)
		}
	}
	if want := "llvm -mcpu=znver3 -mattr=+fma,+avx2"; s.String() != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

// TestGenerators: options of external code generators are checked by the tables of these, and flags may replace them.
func TestGenerators(t *testing.T) {
	s, err := Parse("dnnl -select=all -fast, llvm -mcpu=haswell")
	if err != nil {
		t.Fatal(err)
	}
	if !s.SetGenerator("dnnl", "select", "faster") || s.SetGenerator("bnns", "select", "faster") {
		t.Error("options are set for generators that there are")
	}
	table := []OptionInfo{{Name: "select", Type: Text}, {Name: "fast", Type: Switch}}
	got, err := CheckOptions("dnnl", table, s.Generators[0].Options)
	if want := []Option{{"fast", "1"}, {"select", "faster"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v instead of %v", got, err, want)
	}
	for given, want := range map[Option]string{{"selct", "all"}: "did you mean select", {"select", ""}: "has no value", {"fast", "2"}: "must be 0 or 1"} {
		if _, err := CheckOptions("dnnl", table, []Option{given}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v instead of %s", given, err, want)
		}
	}
}

// Every preset is a target.
func TestPresets(t *testing.T) {
	for _, p := range presets {
		s, err := Parse(p.Name)
		if err == nil {
			_, err = s.Resolve(noHost)
		}
		if err != nil {
			t.Errorf("preset %s: %v", p.Name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"llvm -mcpu=x -mattr=+a,-b", `{"kind":"llvm","mattr":["+a"]}`, "a, b -c='d ,e'", `["llvm"]`, `"llvm"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q prints as %q, which reads as %v, %v", text, s, again, err)
		}
		if r, err := s.Resolve(vm); err == nil {
			if again, err := Parse(r.String()); err != nil {
				t.Errorf("%q: canonical %q does not parse: %v", text, r, err)
			} else if same, err := again.Resolve(noHost); err != nil || same.String() != r.String() {
				t.Errorf("%q: canonical %q resolves to %v, %v", text, r, same, err)
			}
		}
	})
}

// TestMeasured: what was measured counts for the machine of which it was, before what that tells, and an option before both.
func TestMeasured(t *testing.T) {
	m, err := ReadMeasured([]byte(`{"machine": "-mcpu=znver5", "facts": {"clock": 4300, "memory-rate": 41000}}`))
	if err != nil {
		t.Fatal(err)
	}
	row, err := OfCPU(X86, "znver5")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		machine       string
		option        string
		clock, memory int
	}{
		{m.Machine, "", 4300, 41000},
		{m.Machine, " -clock=3900", 3900, 41000},
		{"-mcpu=znver5 -mattr=-avx512f", "", row.Clock, row.Memory},
	} {
		s, err := Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" + c.option)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		got.measuredFacts(&Measured{c.machine, m.Facts})
		if err := got.optionFacts(s); err != nil {
			t.Fatal(err)
		}
		if got.Clock != c.clock || got.Memory != c.memory {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for text, want := range map[string]string{
		`{`: "the text ends", `{"facts": {}}`: "machine", `{"machine": "x", "facts": {"clok": 1}}`: "did you mean clock", `{"machine": "x", "facts": {"clock": 0}}`: "from 1",
	} {
		if _, err := ReadMeasured([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	c := Core{Clock: 3000, Units: 2}
	if got := row.Measure(c); got.Machine != "-mcpu=znver5" || len(got.Facts) != 2 {
		t.Errorf("measured %+v", got)
	}
}
