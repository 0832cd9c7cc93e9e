package llvm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// TestRun runs chains of a kernel that adds one, of a few steps and of more than one function takes, whole and in parts, with and
// without a register of float modes.
func TestRun(t *testing.T) {
	here := native(t)
	if here.PointerBits() != 64 {
		t.Skip("the context below has the layout of 64-bit targets")
	}
	plain := *here
	plain.Arch = "" // no register of float modes, as on a new architecture
	for _, c := range []struct {
		target *target.Target
		steps  int
	}{{here, 1}, {here, 3}, {here, 300}, {&plain, 3}, {&plain, 300}} {
		steps := c.steps
		run := loadRun(t, here, chain(c.target, steps), oneMore)
		var in, out int32
		workspace := make([]int32, steps)
		tables := [4]unsafe.Pointer{unsafe.Pointer(&in), unsafe.Pointer(&out)}
		ctx := make([]uint64, 64)
		set := func(offset int, p unsafe.Pointer) { ctx[offset/8] = uint64(uintptr(p)) }
		at := bundle.ContextOf(8)
		set(at.Inputs, unsafe.Pointer(&tables[0]))
		set(at.Outputs, unsafe.Pointer(&tables[1]))
		set(at.Workspace, unsafe.Pointer(&workspace[0]))
		for _, parts := range [][]int{{0, steps}, {0, steps / 2, steps}} {
			in, out = 10, 0
			clear(workspace)
			for i, last := range parts[1:] {
				if status := run(unsafe.Pointer(&ctx[0]), 0, 1, int32(parts[i]), int32(last)); status != 0 {
					t.Fatalf("%d steps: status %d", steps, status)
				}
				for k, v := range workspace[:min(last, steps-1)] {
					if want := in + int32(k) + 1; v != want {
						t.Fatalf("%d steps, until %d: step %d wrote %d, want %d", steps, last, k, v, want)
					}
				}
				if last < steps && (out != 0 || workspace[last] != 0) {
					t.Errorf("%d steps: steps behind %d ran", steps, last)
				}
			}
			if out != in+int32(steps) {
				t.Errorf("%d steps: %d of %d", steps, out, in)
			}
		}
	}
}

// chain is a run function whose steps add one to what the step before wrote; the last is serial.
func chain(t *target.Target, steps int) *llvm.Run {
	r := &llvm.Run{Symbol: "lathe_test_run", Target: t, FlushDenormals: true}
	from := llvm.Place{Kind: llvm.Input}
	for i := range steps {
		to := llvm.Place{Kind: llvm.Workspace, Index: 4 * i}
		if i == steps-1 {
			to = llvm.Place{Kind: llvm.Output}
		}
		r.Steps = append(r.Steps, llvm.Step{Kernel: "one_more", Args: []llvm.Place{from, to}, Barrier: i%2 == 1, Serial: i == steps-1})
		from = to
	}
	return r
}

const oneMore = `define hidden void @one_more(ptr %in, ptr %out, ptr %scratch, i64 %worker, i64 %workers) nounwind {
  %v = load i32, ptr %in
  %w = add i32 %v, 1
  store i32 %w, ptr %out
  ret void
}
`

func loadRun(t *testing.T, here *target.Target, r *llvm.Run, kernels string) func(ctx unsafe.Pointer, worker, workers, first, last int32) int32 {
	t.Helper()
	m, err := toolchain.Open(toolchain.For(here))
	if err != nil {
		t.Fatal(err)
	}
	var objects []toolchain.Object
	for _, text := range append(r.Texts(), kernels) {
		o, err := m.Compile(text, "function(mem2reg)")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		objects = append(objects, o)
	}
	so, err := toolchain.Link(objects, toolchain.LinkOptions{Exports: []string{r.Symbol}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.so")
	if err := os.WriteFile(file, so, 0o777); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { purego.Dlclose(handle) })
	var run func(ctx unsafe.Pointer, worker, workers, first, last int32) int32
	purego.RegisterLibFunc(&run, handle, r.Symbol)
	return run
}

// TestRunText: functions grow in number and not in size, a barrier stands where one is planned, and none for a target on
// which one worker runs everything.
func TestRunText(t *testing.T) {
	for _, name := range []string{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", "llvm -mtriple=aarch64-linux-gnu", "wasm32"} {
		spec, err := target.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		tgt, err := spec.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for steps, texts := range map[int]int{2: 1, 128: 1, 129: 3, 300: 4} {
			list := chain(tgt, steps).Texts()
			if len(list) != texts {
				t.Errorf("%s: %d texts for %d steps, want %d", name, len(list), steps, texts)
			}
			all := strings.Join(list, "")
			if calls := strings.Count(all, "call void @one_more("); calls != steps {
				t.Errorf("%s: %d calls of %d steps", name, calls, steps)
			}
			meets := steps / 2
			if tgt.Arch == target.WASM32 {
				meets = 0
			}
			if n := strings.Count(all, "_meet(ptr %ctx, i32 %worker, i1 1, i64 %float)"); n != meets {
				t.Errorf("%s: %d barriers for %d steps, want %d", name, n, steps, meets)
			}
			if left := strings.Count(all, "CTX_") + strings.Count(all, "TEAM_") + strings.Count(all, "PART_") + strings.Count(all, "PAUSE"); left > 0 {
				t.Errorf("%s: %d names of the template are left", name, left)
			}
		}
	}
}

// TestDescriptor: what C cannot hold is refused, and the text of what it can has every name.
func TestDescriptor(t *testing.T) {
	spec, err := target.Parse("wasm32")
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &bundle.Manifest{Module: "m", Inputs: []bundle.TensorInfo{{Name: "x", DType: "float32", Shape: []int{2, 3}}}}
	for i := range 3 {
		m.Steps = append(m.Steps, bundle.Step{Name: fmt.Sprintf("fused_%d", i), Nodes: []string{"a", "b\"\x01"}})
	}
	c := &bundle.Contents{Manifest: m, Params: []bundle.Param{{Name: "w", DType: "int8", Shape: []int{4}, Data: make([]byte, 4)}}}
	text, err := llvm.Descriptor(c, tgt, true, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"x\\00", "fused_2\\00", "a\\0Ab\\22\\01\\00", "w\\00", m.WeightsSymbol(), m.DigestSymbol(), bundle.LibraryAlias, "i64 2, i64 3"} {
		if part = strings.Join(strings.Split(part, ", "), ",\n  "); !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	m.Inputs[0].DType = "float24"
	if _, err := llvm.Descriptor(c, tgt, true, true); err == nil {
		t.Error("an element type that lathe.h does not know has a descriptor")
	}
}
