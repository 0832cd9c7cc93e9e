package tflite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/tflitetest"
	"lathe/internal/types"
)

// q8 makes an 8-bit tensor.
func q8(name string, scale float32, zero int64, shape ...int32) tflitetest.Tensor {
	return tflitetest.Tensor{Name: name, Type: 9, Shape: shape, Scale: []float32{scale}, Zero: []int64{zero}}
}

// evaluated imports and evaluates a graph on 8-bit inputs.
func evaluated(t *testing.T, g tflitetest.Graph, in ...[]int8) []int {
	t.Helper()
	m, err := Read(tflitetest.Model(g))
	if err != nil {
		t.Fatal(err)
	}
	imported, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var operands []*tensor.Tensor
	for i, v := range imported.Inputs {
		operands = append(operands, tensor.Of(v.Type.Shape, in[i]))
	}
	out, err := grapheval.Eval(imported, operands)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Ints()
}

func random(r *rand.Rand, n int) []int8 {
	v := make([]int8, n)
	for i := range v {
		v[i] = int8(r.IntN(256) - 128)
	}
	return v
}

// realOf is what an integer stands for, and nearest the integer for a number.
func realOf(q int, scale float32, zero int64) float64 { return float64(scale) * float64(int64(q)-zero) }

func nearest(x float64, scale float32, zero int64) int {
	return int(min(max(math.Round(x/float64(scale))+float64(zero), -128), 127))
}

// TestQuantizedAgainstReal: quantised operators are at most one step from the real numbers that their operands stand for.
func TestQuantizedAgainstReal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const sa, sb, sy, za, zb, zy = 0.031, 0.017, 0.05, 5, -9, 11
	for _, c := range []struct {
		op    string
		scale float32
		f     func(a, b float64) float64
	}{{"ADD", sy, func(a, b float64) float64 { return a + b }}, {"SUB", sy, func(a, b float64) float64 { return a - b }}, {"MUL", sy, func(a, b float64) float64 { return a * b }},
		{"MAXIMUM", sy, math.Max}, {"SQUARED_DIFFERENCE", 0.2, func(a, b float64) float64 { return (a - b) * (a - b) }}} {
		const n = 500
		g := tflitetest.Graph{Tensors: []tflitetest.Tensor{q8("a", sa, za, n), q8("b", sb, zb, n), q8("y", c.scale, zy, n)}, Inputs: []int32{0, 1}, Outputs: []int32{2},
			Operators: []tflitetest.Operator{{Code: int32(codeOf(c.op)), In: []int32{0, 1}, Out: []int32{2}}}}
		a, b := random(r, n), random(r, n)
		for i, got := range evaluated(t, g, a, b) {
			x := c.f(realOf(int(a[i]), sa, za), realOf(int(b[i]), sb, zb))
			if want := nearest(x, c.scale, zy); max(got-want, want-got) > 1 {
				t.Errorf("%s of %d and %d is %d instead of %d", c.op, a[i], b[i], got, want)
			}
		}
	}
}

// TestQuantizedConv: a convolution with a scale for each channel, padding, strides and a fused activation, against sums in a loop.
func TestQuantizedConv(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const h, w, ic, oc, k, stride = 5, 6, 3, 4, 3, 2
	x, y := q8("x", 0.05, 7, 1, h, w, ic), q8("y", 0.2, -100, 1, (h+1)/2, w/2, oc)
	filter := tflitetest.Tensor{Name: "w", Type: 9, Shape: []int32{oc, k, k, ic}, Scale: []float32{0.01, 0.02, 0.03, 0.04}, Zero: []int64{0, 0, 0, 0}}
	weights := random(r, oc*k*k*ic)
	for _, v := range weights {
		filter.Data = append(filter.Data, byte(v))
	}
	bias := tflitetest.Tensor{Name: "b", Type: 2, Shape: []int32{oc}}
	biases := tensor.New(types.I32, oc)
	for i := range oc {
		biases.SetInt(i, int64(100*i-150))
	}
	bias.Data = biases.Bytes()
	g := tflitetest.Graph{Tensors: []tflitetest.Tensor{x, filter, bias, y}, Inputs: []int32{0}, Outputs: []int32{3},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("CONV_2D")), In: []int32{0, 1, 2}, Out: []int32{3}, Options: tflitetest.Table{0: int8(0), 1: int32(stride), 2: int32(stride), 3: int8(1)}}}}
	data := random(r, h*w*ic)
	got := evaluated(t, g, data)
	// SAME: (ceil(5/2)-1)*2 + 3 - 5 = 2 rows, one before; (3-1)*2 + 3 - 6 = 1 column, behind.
	for i := range 3 {
		for j := range 3 {
			for o := range oc {
				sum := biases.Int(o)
				for dy := range k {
					for dx := range k {
						a, b := i*stride+dy-1, j*stride+dx
						if a < 0 || a >= h || b >= w {
							continue
						}
						for c := range ic {
							sum += (int64(data[(a*w+b)*ic+c]) - 7) * int64(weights[((o*k+dy)*k+dx)*ic+c])
						}
					}
				}
				scale := float32(x.Scale[0]*filter.Scale[o]) / y.Scale[0]
				want := int(math.RoundToEven(float64(float32(sum)*scale))) - 100
				want = min(max(want, -100), 127)
				if at := (i*3+j)*oc + o; got[at] != want {
					t.Errorf("row %d column %d channel %d is %d instead of %d", i, j, o, got[at], want)
				}
			}
		}
	}
}

// TestDetection: of overlapping boxes the best is kept, and what is left out is zero.
func TestDetection(t *testing.T) {
	f32 := func(name string, data []float32, shape ...int32) tflitetest.Tensor {
		x := tflitetest.Tensor{Name: name, Shape: shape}
		if data != nil {
			x.Data = tensor.Of([]int{len(data)}, data).Bytes()
		}
		return x
	}
	anchors := []float32{0.5, 0.5, 0.2, 0.2, 0.51, 0.5, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1}
	for _, regular := range []float32{0, 1} {
		options := flexNumbers(map[string]float32{"max_detections": 3, "num_classes": 2, "nms_iou_threshold": 0.5, "nms_score_threshold": 0.1,
			"y_scale": 1, "x_scale": 1, "h_scale": 1, "w_scale": 1, "use_regular_nms": regular})
		g := tflitetest.Graph{Tensors: []tflitetest.Tensor{f32("boxes", make([]float32, 12), 1, 3, 4), f32("scores", []float32{0, .3, .6, 0, .2, .9, 0, .8, .05}, 1, 3, 3), f32("anchors", anchors, 3, 4),
			f32("b", nil, 1, 3, 4), f32("c", nil, 1, 3), f32("s", nil, 1, 3), f32("n", nil, 1)}, Outputs: []int32{3, 4, 5, 6},
			Operators: []tflitetest.Operator{{Custom: "TFLite_Detection_PostProcess", In: []int32{0, 1, 2}, Out: []int32{3, 4, 5, 6}, CustomOptions: options}}}
		m, err := Read(tflitetest.Model(g))
		if err != nil {
			t.Fatal(err)
		}
		imported, err := frontend.Import(m, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := grapheval.Eval(imported, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := "[0.9 0.8 0] [1 0 0] 2 0.41 0.15"
		if regular == 1 { // box 0 of class 0 overlaps none of its class that is better
			want = "[0.9 0.8 0.3] [1 0 0] 3 0.41 0.15"
		}
		numbers := func(x *tensor.Tensor) (list []float64) {
			for i := range x.Len() {
				list = append(list, math.Round(x.Float(i)*1e4)/1e4)
			}
			return list
		}
		if got := fmt.Sprint(numbers(out[2]), numbers(out[1]), out[3].Float(0), numbers(out[0])[0], numbers(out[0])[4]); got != want {
			t.Errorf("regular %v: %s instead of %s", regular, got, want)
		}
	}
}

// flexNumbers writes a flexbuffer: a map from names to floats of four bytes.
func flexNumbers(m map[string]float32) []byte {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	var b []byte
	var at []int
	for _, name := range names {
		at = append(at, len(b))
		b = append(append(b, name...), 0)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	u32 := func(v int) { b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24)) }
	u32(len(names))
	keys := len(b)
	for _, a := range at {
		u32(len(b) - a)
	}
	u32(len(b) - keys)
	u32(4)
	u32(len(names))
	values := len(b)
	for _, name := range names {
		u32(int(math.Float32bits(m[name])))
	}
	for range names {
		b = append(b, flexFloat<<2|2)
	}
	return append(b, byte(len(b)-values), flexMapKind<<2|2, 1)
}
