package lathe

import (
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// TestGraphMeanings: an integer input has a scale where all who read it dequantize it by that one, an output where it was quantised.
func TestGraphMeanings(t *testing.T) {
	const head = "graph main(%x: uint8[1,4]) {\n  @s = float32[]{0.5}\n  @t = float32[]{0.25}\n  @z = uint8[]{7}\n"
	for body, want := range map[string]float64{
		"  %a: float32[1,4] = qnn.dequantize(%x, @s, @z)\n  %y: uint8[1,4] = qnn.quantize(%a, @t, @z) {out_dtype=uint8, rounding=\"half_even\"}\n  return %y\n}\n":                                                                                    0.5,
		"  %a: float32[1,4] = qnn.dequantize(%x, @s, @z)\n  %b: float32[1,4] = qnn.dequantize(%x, @s, @z)\n  %c: float32[1,4] = add(%a, %b)\n  %y: uint8[1,4] = qnn.quantize(%c, @t, @z) {out_dtype=uint8, rounding=\"half_even\"}\n  return %y\n}\n": 0.5,
		"  %a: float32[1,4] = qnn.dequantize(%x, @s, @z)\n  %b: float32[1,4] = qnn.dequantize(%x, @t, @z)\n  %c: float32[1,4] = add(%a, %b)\n  %y: uint8[1,4] = qnn.quantize(%c, @t, @z) {out_dtype=uint8, rounding=\"half_even\"}\n  return %y\n}\n": 0,
		"  %a: float32[1,4] = qnn.dequantize(%x, @s, @z)\n  %b: float32[1,4] = cast(%x) {dtype=float32}\n  %c: float32[1,4] = add(%a, %b)\n  %y: uint8[1,4] = qnn.quantize(%c, @t, @z) {out_dtype=uint8, rounding=\"half_even\"}\n  return %y\n}\n":   0,
	} {
		g, err := graph.Parse(head+body, ops.Lookup, graph.NewConsts())
		if err != nil {
			t.Fatal(err)
		}
		in, out := graphMeanings(g)
		if in["x"].Scale != want || want != 0 && in["x"].Zero != 7 {
			t.Errorf("%s: the input stands for %+v, want a scale of %g", body, in["x"], want)
		}
		if out["y"].Scale != 0.25 || out["y"].Zero != 7 {
			t.Errorf("%s: the output stands for %+v", body, out["y"])
		}
	}
}
