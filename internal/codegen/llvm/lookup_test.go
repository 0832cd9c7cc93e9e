package llvm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
)

// TestLookups: bytes are taken from tables by what a target has for that, of whole vectors and of those with idle lanes, the last
// element of a table too.
func TestLookups(t *testing.T) {
	for _, c := range []struct{ target, name string }{
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512vbmi", "vpermi2var"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "gather.d.d"},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", ""},
	} {
		tgt := targettest.Runnable(t, c.target)
		var funcs []*loop.Func
		for _, lanes := range []int{4, 8, 16, 32, 64} {
			for _, columns := range []int{lanes, 3*lanes - 1} {
				for _, data := range []string{"uint8", "int8"} {
					index := "int64(x[i, ((o * %[1]d) + l)])"
					if data == "int8" {
						index = "(" + index + " + 128)"
					}
					funcs = append(funcs, parse(t, fmt.Sprintf(`func kernel(x: %[4]s[3,%[2]d], t: %[5]s[320], y: %[5]s[3,%[2]d]) {
  for i in 0..3 {
    for o in 0..%[3]d {
      vector l in 0..%[1]d {
        if (((o * %[1]d) + l) < %[2]d) {
          y[i, ((o * %[1]d) + l)] = t[`+index+`]
        }
      }
    }
  }
}
`, lanes, columns, (columns+lanes-1)/lanes, data, []string{"uint8", "int8"}[len(funcs)/2%2])))
				}
			}
		}
		named := 0
		for _, f := range funcs {
			k, err := llvm.Emit(f, llvm.Options{Symbol: "kernel", Target: targettest.Resolve(t, c.target)})
			if err != nil {
				t.Fatal(err)
			}
			if c.name != "" && strings.Contains(k.Text, c.name) {
				named++
			}
		}
		if c.name != "" && named < len(funcs)*3/4 {
			t.Errorf("%s: %d of %d kernels look up by %s", c.target, named, len(funcs), c.name)
		}
		code := loadFor(t, tgt, funcs, llvm.Options{VectorBits: tgt.VectorBits, Target: tgt})
		for i, f := range funcs {
			r := rand.New(rand.NewPCG(uint64(i), 77))
			args := make([]*tensor.Tensor, 3)
			for k, p := range f.Params {
				args[k] = tensor.New(p.DType, p.Shape...)
				least, _ := p.DType.IntRange()
				for j := range args[k].Len() {
					args[k].SetInt(j, least+r.Int64N(256))
				}
			}
			_, most := args[0].DType.IntRange()
			args[0].SetInt(0, most)
			got := []*tensor.Tensor{args[0], args[1], tensor.New(args[2].DType, args[2].Shape...)}
			if err := interp.Run(f, args, 1); err != nil {
				t.Fatal(err)
			}
			if err := code.run(i, got, 1); err != nil {
				t.Errorf("%s: %v\n%v", c.target, err, f)
			}
			for e := range args[2].Len() {
				if args[2].Int(e) != got[2].Int(e) {
					t.Errorf("%s: element %d is %v instead of %v\n%v", c.target, e, got[2].Int(e), args[2].Int(e), f)
					break
				}
			}
		}
	}
}
