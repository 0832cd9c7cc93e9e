package llvm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
)

// TestTails stores rows whose last vector has one lane or a few: it writes the bytes of these
// lanes, and none behind the last row. Rows run backwards, so that what a row writes too much stays in the next.
func TestTails(t *testing.T) {
	var funcs []*loop.Func
	var uses []string
	for _, typ := range []string{"uint8", "int8", "int16", "uint16", "float16", "float32", "float64"} {
		for _, lanes := range []int{4, 8, 16} {
			for _, columns := range []int{lanes + 1, lanes + 2, lanes + 3, 2*lanes - 2, 2*lanes - 1, 2*lanes + 1} {
				value := "x[(2 - i), ((o * %[1]d) + l)]"
				if typ == "float64" {
					value = "float64(" + value + ")"
				}
				if !strings.HasPrefix(typ, "float") {
					value = "%[4]s((round((" + value + " / 0.25)) + 0.0))"
				}
				text := fmt.Sprintf(`func kernel(x: float32[3,%[2]d], y: %[4]s[3,%[2]d]) {
  for i in 0..3 {
    unroll o in 0..%[3]d {
      vector l in 0..%[1]d {
        if (((o * %[1]d) + l) < %[2]d) {
          y[(2 - i), ((o * %[1]d) + l)] = `+value+`
        }
      }
    }
  }
}
`, lanes, columns, (columns+lanes-1)/lanes, typ)
				funcs, uses = append(funcs, parse(t, text)), append(uses, fmt.Sprintf("%d columns of %s in vectors of %d", columns, typ, lanes))
			}
		}
	}
	code := load(t, funcs)
	for i, f := range funcs {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		x, y := tensor.New(f.Params[0].DType, f.Params[0].Shape...), tensor.New(f.Params[1].DType, f.Params[1].Shape...)
		for j := range x.Len() {
			x.SetFloat(j, 4*r.NormFloat64())
		}
		want, got := []*tensor.Tensor{x, y}, []*tensor.Tensor{x, tensor.New(y.DType, y.Shape...)}
		if err := interp.Run(f, want, 1); err != nil {
			t.Fatal(err)
		}
		if err := code.run(i, got, 1); err != nil {
			t.Errorf("%s: %v", uses[i], err)
		}
		for e := range y.Len() {
			if want[1].Float(e) != got[1].Float(e) {
				t.Errorf("%s: element %d is %v instead of %v", uses[i], e, got[1].Float(e), want[1].Float(e))
				break
			}
		}
	}
}
