package target

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func noHost() (Host, error) { return Host{}, errors.New("the host must not be asked") }

// vm is a virtual machine that hides a feature of its CPU and shows one more.
func vm() (Host, error) {
	return Host{Triple: "x86_64-pc-linux-gnu", CPU: "skylake-avx512", Features: []string{"+avx512f", "-avx512bw", "+sse4.2",
		"+avx512vnni", "-rtm", "+avx2"}, Cores: 3}, nil
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
		{"llvm", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=skylake-avx512 -mattr=-avx512bw,+avx512vnni -num-cores=3", 512, 32, true, "avx512f avx512vnni fma", "avx512bw"},
		{"llvm -mcpu=native -num-cores=1", "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=skylake-avx512 -mattr=-avx512bw,+avx512vnni -num-cores=1", 512, 32, true, "", "avx512bw"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=-avx512f -num-cores=4", 256, 16, true, "avx2 gfni", "avx512f avx512vl avx512bf16"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx512bw", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx512bw -num-cores=4", 512, 32, true, "avx2 fma ssse3", "avx512vl"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+prefer-256-bit", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+prefer-256-bit -num-cores=4", 256, 32, true, "avx512f", ""},
		{"llvm -mtriple=aarch64-linux-gnu", "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -num-cores=4", 128, 26, true, "neon", "dotprod"},
		{"llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod", "llvm -mtriple=aarch64-linux-gnu -mcpu=generic -mattr=+neon,+dotprod -num-cores=4 -device=arm_cpu", 128, 26, true, "dotprod", ""},
		{"raspberry-pi/4b-aarch64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=-aes,-sha2 -num-cores=4", 128, 26, true, "neon crc", "aes sha2"},
		{"raspberry-pi-5 -num-cores=2", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -num-cores=2", 128, 26, true, "dotprod", ""},
		{"llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon", "llvm -mtriple=armv7l-linux-gnueabihf -mcpu=generic -mattr=-neon -num-cores=4", 128, 8, false, "vfp3", "neon"},
		{"llvm -mtriple=riscv64-linux-gnu", "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -num-cores=4", 128, 8, true, "d", "v"},
		{"llvm -mtriple=riscv64-linux-gnu -mcpu=spacemit-x60", "llvm -mtriple=riscv64-linux-gnu -mcpu=spacemit-x60 -num-cores=4", 256, 32, true, "v zvl128b", ""},
		{"wasm32", "llvm -mtriple=wasm32-unknown-unknown -mcpu=generic -mattr=+simd128 -num-cores=1", 128, 11, false, "simd128 sign-ext", "relaxed-simd"},
		{"llvm -mtriple=wasm32-unknown-unknown -mattr=+relaxed-simd", "llvm -mtriple=wasm32-unknown-unknown -mcpu=generic -mattr=+relaxed-simd -num-cores=4", 128, 11, true, "simd128", ""},
		{`{"kind":"llvm","mcpu":"haswell","mattr":["+avx512f","-fma"],"num-cores":2,"tag":"","keys":["cpu"],"host":null,"fast-math":false}`,
			"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -mattr=+avx512f,-fma -num-cores=2 -keys=cpu", 256, 16, false, "avx2", "fma avx512f"},
		{`{"tag":"aws/cpu/c5.large"}`, "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1", 512, 32, true, "", ""},
		{"c", "c", 0, 12, false, "", "neon"},
		{"c -model=stm32f4 -mcpu=cortex-m4 -device=micro", "c -model=stm32f4 -mcpu=cortex-m4 -device=micro", 0, 12, false, "", ""},
		{`{"kind":"c","keys":["arm_cpu","cpu"],"mcpu":"cortex-m7"}`, "c -keys=arm_cpu,cpu -mcpu=cortex-m7", 0, 12, false, "", ""},
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

// A host whose CPU the tables lack is described by its features alone.
func TestUnknownHostCPU(t *testing.T) {
	s, err := Parse("llvm")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Resolve(func() (Host, error) {
		return Host{Triple: "x86_64-linux-gnu", CPU: "futurelake", Features: []string{"+avx2", "+fma", "-avx512f", "+sgx"}, Cores: 8}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "llvm -mtriple=x86_64-linux-gnu -mcpu=futurelake -mattr=+avx2,+fma,-avx512f -num-cores=8"; got.String() != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got.VectorBits != 256 || !got.HasFMA {
		t.Errorf("%d bits, FMA %t", got.VectorBits, got.HasFMA)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{"cuda", "target kind cuda is not supported yet"},
		{"cuda -arch=sm_80, llvm", "target kind cuda is not supported yet"},
		{"llvm, cuda", "target kind cuda is not supported yet"},
		{"compute-library, llvm", "external code generator compute-library is not supported yet"},
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
		{"llvm -opt-level=4", "1, 2 or 3"},
		{"llvm --fast-math", "-O4 allows approximate functions"},
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

// Rows refer to rows above them and to features of the table.
func TestTables(t *testing.T) {
	for _, a := range arches {
		tab := tables[a]
		known := tab.universe()
		if tab.find(tab.generic) == nil {
			t.Errorf("%s: no row for %s", a, tab.generic)
		}
		if got, err := archOf(tab.example); got != a || err != nil {
			t.Errorf("%s: example %s is of %s, %v", a, tab.example, got, err)
		}
		seen := map[string]bool{"": true}
		for i, c := range tab.cpus {
			if !seen[c.like] || i == 0 && c.like != "" {
				t.Errorf("%s: %s is like %q, which is not above it", a, c.name, c.like)
			}
			if seen[c.name] {
				t.Errorf("%s: %s occurs twice", a, c.name)
			}
			seen[c.name] = true
			for f := range strings.FieldsSeq(c.features) {
				if !slices.Contains(known, f) {
					t.Errorf("%s: %s has unknown feature %s", a, c.name, f)
				}
			}
		}
		for _, f := range tab.features {
			for n := range strings.FieldsSeq(f.needs) {
				if !slices.Contains(known, n) {
					t.Errorf("%s: %s needs unknown feature %s", a, f.name, n)
				}
			}
		}
	}
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
