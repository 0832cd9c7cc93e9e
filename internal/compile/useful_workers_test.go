package compile

import (
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// Networks of growing size, of a few and of many steps: one worker for the small ones, more with the size, never fewer;
// any number for the large ones. Steps that one worker computes are no work for several.
func TestUsefulWorkers(t *testing.T) {
	for _, text := range []string{
		"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5",
		"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64",
	} {
		spec, err := target.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		tgt, err := spec.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, steps := range []int{1, 18, 200} {
			last := 0
			for flops := int64(1000); flops <= 1e12; flops *= 2 {
				m := new(bundle.Manifest)
				for range steps {
					m.Steps = append(m.Steps, bundle.Step{FLOPs: flops / int64(steps), Bytes: 1000, Multiply: "float32"})
				}
				n := usefulWorkers(m, tgt, steps-1)
				if flops == 1000 && n != 1 {
					t.Errorf("%s: %d workers for 1000 operations", text, n)
				}
				if n == 0 {
					n = 2 * manyWorkers
				}
				if n < last {
					t.Errorf("%s: %d operations in %d steps: %d workers, %d for half of it", text, flops, steps, n, last)
				}
				last = n
				for i := range m.Steps {
					m.Steps[i].Workers = 1
				}
				if n := usefulWorkers(m, tgt, steps-1); n != 1 {
					t.Errorf("%s: %d workers for steps that one computes", text, n)
				}
			}
			if last != 2*manyWorkers {
				t.Errorf("%s: at most %d workers for 1e12 operations", text, last)
			}
		}
	}
}
