package compile

import (
	"math"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// TestBaselineRounding: processors without an instruction for it round as the others do, special values included.
func TestBaselineRounding(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 0.3, -0.3, 0.5, -0.5, 0.7, -0.7, 1, 1.5, -1.5, 2.5, -2.5, 8388607.5, -8388607.5, 8388609, 3e9, -1e30,
		math.Inf(1), math.Inf(-1), math.NaN()}
	for _, dtype := range []string{"float32", "float64"} {
		for op, round := range map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.RoundToEven} {
			g, err := graph.Parse("graph main(%x: "+dtype+"[21]) {\n%y = "+op+"(%x)\nreturn %y\n}", ops.Lookup, nil)
			if err != nil {
				t.Fatal(err)
			}
			x := tensor.NewOf(g.Inputs[0].Type)
			for i, v := range values {
				x.SetFloat(i, v)
			}
			got, err := run(t, g, Options{Target: resolve(t, "llvm -mcpu=x86-64"), Level: 3}, 1, []*tensor.Tensor{x})
			if err != nil {
				t.Errorf("%s of %s: %v", op, dtype, err)
				continue
			}
			for i := range values {
				want := round(x.Float(i))
				if y := got[0].Float(i); math.Float64bits(y) != math.Float64bits(want) && !(math.IsNaN(y) && math.IsNaN(want)) {
					t.Errorf("%s(%v) of %s is %v, want %v", op, x.Float(i), dtype, y, want)
				}
			}
		}
	}
}

// TestBaselineHalf: a type that needs a library is refused in words.
func TestBaselineHalf(t *testing.T) {
	g, err := graph.Parse("graph main(%x: float16[8]) {\n%y = nn.relu(%x)\nreturn %y\n}", ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(t, g, Options{Target: resolve(t, "llvm -mcpu=x86-64"), Level: 3}, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "float16 needs a processor with F16C") {
		t.Errorf("error %v", err)
	}
}
