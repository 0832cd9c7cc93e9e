package toolchain

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"lathe/internal/fault"
)

const addIR = `define i32 @add(i32 %a, i32 %b) nounwind {
  %s = add i32 %a, %b
  ret i32 %s
}
`

const scaleIR = `define void @scale(ptr %p) nounwind {
  %v = load <4 x float>, ptr %p
  %x = fmul <4 x float> %v, splat (float 2.0)
  store <4 x float> %x, ptr %p
  ret void
}
`

// The stack slot is gone after mem2reg.
const slotIR = `define void @scale(ptr %p) nounwind {
  %slot = alloca <4 x float>
  %v = load <4 x float>, ptr %p
  store <4 x float> %v, ptr %slot
  %w = load <4 x float>, ptr %slot
  %x = fmul <4 x float> %w, splat (float 2.0)
  store <4 x float> %x, ptr %p
  ret void
}
`

// Intrinsic of the dot-product extension, which makes the AArch64 back end call report_fatal_error on a CPU without it.
const dotIR = `declare <4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32>, <16 x i8>, <16 x i8>)
define <4 x i32> @dot(<4 x i32> %c, <16 x i8> %a, <16 x i8> %b) {
  %r = call <4 x i32> @llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32> %c, <16 x i8> %a, <16 x i8> %b)
  ret <4 x i32> %r
}
`

func open(t *testing.T, o Options) *Machine {
	t.Helper()
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantError fails unless err is one line that contains every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func TestAssemblyOfTargets(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{Options{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3"}, []string{"scale:", "vaddps"}},
		{Options{Triple: "x86_64-linux-gnu"}, []string{"scale:", "\taddps"}},
		{Options{Triple: "aarch64-linux-gnu", CPU: "cortex-a72"}, []string{"scale:", "fadd\tv0.4s"}},
		{Options{Triple: "armv7-linux-gnueabihf", CPU: "cortex-a9"}, []string{"scale:", "vadd.f32"}},
		{Options{Triple: "riscv64-linux-gnu", CPU: "generic-rv64", Features: []string{"+f", "+d", "+v"}}, []string{"scale:", "vfadd.vv"}},
		{Options{Triple: "wasm32-unknown-unknown", Features: []string{"+simd128"}}, []string{"scale:", "f32x4.add"}},
		{Options{Triple: "nvptx64-nvidia-cuda", CPU: "sm_80"}, []string{".visible .func scale", "add.rn.f32"}},
		{Options{Triple: "spirv64-unknown-unknown"}, []string{"OpFunction", "OpFMul"}},
		{Options{Triple: "amdgcn-amd-amdhsa", CPU: "gfx1100"}, []string{"scale:", "v_dual_add_f32"}},
	} {
		text, err := open(t, c.options).Assembly(scaleIR, "")
		if err != nil {
			t.Errorf("%v: %v", c.options, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%v: assembly lacks %q:\n%s", c.options, w, text)
			}
		}
	}
}

// TestPasses: the default passes lift a stack slot into a register, others leave it where it is.
func TestPasses(t *testing.T) {
	m := open(t, Options{Triple: "aarch64-linux-gnu"})
	for passes, lifted := range map[string]bool{"": true, "function(instsimplify)": false} {
		text, err := m.Assembly(slotIR, passes)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "[sp") == lifted {
			t.Errorf("passes %q gave\n%s", passes, text)
		}
	}
}

func TestErrorsOfIR(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu"})
	for _, c := range []struct {
		name, ir, passes string
		want             []string
	}{
		{"syntax", "define void @f() {\n  frobnicate i32 1\n  ret void\n}\n", "", []string{"parse LLVM IR: line 2", "frobnicate i32 1"}},
		{"type", "define i32 @f(float %x) {\n  ret i32 %x\n}\n", "", []string{"parse LLVM IR: line 2", "ret i32 %x"}},
		{"end of text", "define void @f() {\n", "", []string{"parse LLVM IR: line 2"}},
		{"zero byte", "define void @f() {\n\x00 }", "", []string{"parse LLVM IR: line 2"}},
		{"dominance", "define i32 @f(i1 %c) {\ne:\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 2\n  br label %b\nb:\n  ret i32 %x\n}\n", "",
			[]string{"verify LLVM IR: line 5", "does not dominate"}},
		{"pass", addIR, "function(nonsense)", []string{"run LLVM passes", "nonsense"}},
		{"inline assembly", "define void @f() {\n  call void asm \"nosuchinstruction\", \"\"()\n  ret void\n}\n", "", []string{"generate code", "nosuchinstruction"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := m.Compile(c.ir, c.passes)
			wantError(t, err, c.want...)
		})
	}
}

// TestCompileIsDeterministic compiles on many threads at once what one compiles alone.
func TestCompileIsDeterministic(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu", CPU: "x86-64-v4"})
	irs := make([]string, 20)
	for i := range irs {
		irs[i] = strings.ReplaceAll(scaleIR, "@scale", fmt.Sprintf("@scale%d", i))
	}
	alone := compileFor(t, m, irs...)
	var group sync.WaitGroup
	for range 3 {
		for i, ir := range irs {
			group.Go(func() {
				object, err := m.Compile(ir, "")
				if err != nil || !bytes.Equal(object, alone[i]) || !bytes.Contains(object, fmt.Appendf(nil, "scale%d\x00", i)) {
					t.Errorf("object %d among others differs or is not its own: %v", i, err)
				}
			})
		}
	}
	group.Wait()
}

// What LLVM would end the process for must come back as an error, on any thread, and leave LLVM, lld and Go's own
// recovery from faults working.
func TestCrashGuard(t *testing.T) {
	bad := open(t, Options{Triple: "aarch64-linux-gnu", CPU: "cortex-a53"})
	good := open(t, Options{Triple: "aarch64-linux-gnu", CPU: "cortex-a53", Features: []string{"+dotprod"}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				_, err := bad.Compile(dotIR, "")
				if err == nil || !strings.Contains(err.Error(), "LLVM cannot compile this: ") || !strings.Contains(err.Error(), "SDOT") || !strings.HasSuffix(err.Error(), "In function: dot") {
					t.Errorf("dot product without the feature: %v", err)
				}
				object, err := good.Compile(dotIR, "")
				if err != nil {
					t.Errorf("dot product with the feature: %v", err)
				}
				if _, err := Link([]Object{object}, LinkOptions{Triple: good.triple, Exports: []string{"dot"}}); err != nil {
					t.Error(err)
				}
				if !recoversFromNil() {
					t.Error("Go no longer recovers from a nil dereference")
				}
			}
		})
	}
	wg.Wait()
}

func recoversFromNil() (recovered bool) {
	defer func() { recovered = recover() != nil }()
	var p *int
	*p = 1
	return false
}

func BenchmarkCompile(b *testing.B) {
	m, err := Open(Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.Compile(scaleIR, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFault: an abort within LLVM and a stack that has run out are errors, on many threads at once; a fault of Go code stays Go's.
func TestFault(t *testing.T) {
	m := open(t, Options{})
	var deep strings.Builder // constant expressions within each other, which LLVM's parser follows by recursion
	const depth = 300000
	deep.WriteString("@x = constant i64 " + strings.Repeat("add (i64 1, i64 ", depth) + "0" + strings.Repeat(")", depth) + "\n")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				if _, err := m.Compile(addIR, "trigger-crash-module"); err == nil || !strings.HasPrefix(err.Error(), "LLVM cannot compile this: a fault of LLVM itself, signal ") {
					t.Errorf("abort: %v", err)
				}
				if _, err := m.Compile(addIR, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if _, err := m.Compile(deep.String(), ""); err == nil || !strings.Contains(err.Error(), "a fault of LLVM itself, signal ") {
		t.Errorf("deep recursion: %.200v", err)
	}
	if _, err := m.Compile(addIR, ""); err != nil {
		t.Error(err)
	}
	err := fault.Guard(func() error {
		var none *Options
		_ = none.Triple
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "nil pointer dereference") {
		t.Errorf("a fault of Go code: %v", err)
	}
}
