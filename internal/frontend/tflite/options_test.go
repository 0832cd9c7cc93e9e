package tflite

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/tflitetest"
)

// outputs evaluates a file with options given as "name=value" pairs.
func outputs(t *testing.T, file []byte, options map[string]string, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	m, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range options {
		m.Set(name, value)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fixedProduct is TensorFlow Lite's MultiplyByQuantizedMultiplier on one number, as its source has it.
func fixedProduct(x int64, factor float64) int64 {
	fraction, shift := math.Frexp(factor)
	m := int64(math.Round(fraction * (1 << 31)))
	if m == 1<<31 {
		m, shift = m/2, shift+1
	}
	ab := (x << max(shift, 0)) * m
	nudge := int64(1 << 30)
	if ab < 0 {
		nudge = 1 - 1<<30
	}
	high := (ab + nudge) / (1 << 31)
	right := max(-shift, 0)
	mask := int64(1)<<right - 1
	threshold := mask >> 1
	if high < 0 {
		threshold++
	}
	y := high >> right
	if high&mask > threshold {
		y++
	}
	return y
}

func saturate8(x int64) int { return int(min(max(x, -128), 127)) }

// TestReferenceArithmetic: convolutions, sums, products and means are those of the reference kernels, which differ from XNNPACK's somewhere.
func TestReferenceArithmetic(t *testing.T) {
	const n, channels = 4096, 3
	r := rand.New(rand.NewPCG(1, 2))
	x, y := random(r, n*channels), random(r, n*channels)
	a, b := q8("a", 0.5, 5, 1, n, 1, channels), q8("b", 0.25, -9, 1, n, 1, channels)
	out, product := q8("out", 1, 3, 1, n, 1, channels), q8("out", 3.7, 3, 1, n, 1, channels)
	w, bias := random(r, channels*channels), []int32{100, -7, 55}
	weight := tflitetest.Tensor{Name: "w", Type: 9, Shape: []int32{channels, 1, 1, channels}, Data: tensor.Of([]int{len(w)}, w).Bytes(), Scale: []float32{0.011, 0.002, 0.0007}, Zero: []int64{0, 0, 0}}
	biases := tflitetest.Tensor{Name: "bias", Type: 2, Shape: []int32{channels}, Data: tensor.Of([]int{channels}, bias).Bytes()}
	mean := q8("mean", 0.49, -2, 1, channels)
	axes := tflitetest.Tensor{Name: "axes", Type: 2, Shape: []int32{2}, Data: tensor.Of([]int{2}, []int32{1, 2}).Bytes()}
	scale := func(t tflitetest.Tensor) float64 { return float64(t.Scale[0]) }
	of := func(t tflitetest.Tensor, v []int8, i int) int64 { return int64(v[i]) - t.Zero[0] }
	brought := func(t tflitetest.Tensor, v []int8, i int) int64 {
		return fixedProduct(of(t, v, i)<<20, scale(t)/(2*max(scale(a), scale(b))))
	}
	for _, c := range []struct {
		op      string
		in      []tflitetest.Tensor
		result  tflitetest.Tensor
		options tflitetest.Table
		want    func(i int) int
	}{
		{"CONV_2D", []tflitetest.Tensor{a, weight, biases}, out, tflitetest.Table{0: int8(1), 1: int32(1), 2: int32(1)}, func(i int) int {
			o, sum := i%channels, int64(bias[i%channels])
			for k := range channels {
				sum += of(a, x, i-o+k) * int64(w[o*channels+k])
			}
			return saturate8(fixedProduct(sum, scale(a)*float64(weight.Scale[o])/scale(out)) + out.Zero[0])
		}},
		{"ADD", []tflitetest.Tensor{a, b}, out, nil, func(i int) int {
			return saturate8(fixedProduct(brought(a, x, i)+brought(b, y, i), 2*max(scale(a), scale(b))/((1<<20)*scale(out))) + out.Zero[0])
		}},
		{"SUB", []tflitetest.Tensor{a, b}, out, nil, func(i int) int {
			return saturate8(fixedProduct(brought(a, x, i)-brought(b, y, i), 2*max(scale(a), scale(b))/((1<<20)*scale(out))) + out.Zero[0])
		}},
		{"MUL", []tflitetest.Tensor{a, b}, product, nil, func(i int) int {
			return saturate8(fixedProduct(of(a, x, i)*of(b, y, i), scale(a)*scale(b)/scale(product)) + product.Zero[0])
		}},
		{"MEAN", []tflitetest.Tensor{a, axes}, mean, nil, func(i int) int {
			sum := int64(0)
			for k := range n {
				sum += of(a, x, k*channels+i)
			}
			return int(math.Round(float64(sum)*scale(a)/scale(mean)/n)) + int(mean.Zero[0])
		}},
	} {
		g := tflitetest.Graph{Tensors: append(slices.Clone(c.in), c.result), Outputs: []int32{int32(len(c.in))}}
		o := tflitetest.Operator{Code: int32(codeOf(c.op)), Out: g.Outputs, Options: c.options}
		var in []*tensor.Tensor
		for i, v := range c.in {
			o.In = append(o.In, int32(i))
			if v.Data == nil {
				g.Inputs = append(g.Inputs, int32(i))
				in = append(in, tensor.Of([]int{1, n, 1, channels}, map[string][]int8{"a": x, "b": y}[v.Name]))
			}
		}
		g.Operators = []tflitetest.Operator{o}
		file := tflitetest.Model(g)
		got := outputs(t, file, map[string]string{arithmeticOption: "reference"}, in...)[0].Ints()
		for i, q := range got {
			if want := c.want(i); q != want {
				t.Fatalf("%s: element %d is %d, not %d", c.op, i, q, want)
			}
		}
		if fast := outputs(t, file, nil, in...)[0].Ints(); c.op != "MEAN" && slices.Equal(got, fast) {
			t.Errorf("%s: XNNPACK's arithmetic gives the same, so that this compares nothing", c.op)
		}
	}
}

// TestHybridFloat: weights are real numbers, with which the data are multiplied as they are.
func TestHybridFloat(t *testing.T) {
	const inner, units = 5, 3
	r := rand.New(rand.NewPCG(3, 4))
	w := random(r, inner*units)
	x := make([]float32, inner)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	weight := tflitetest.Tensor{Name: "w", Type: 9, Shape: []int32{units, inner}, Data: tensor.Of([]int{len(w)}, w).Bytes(), Scale: []float32{0.013}, Zero: []int64{0}}
	file := tflitetest.Model(tflitetest.Graph{Inputs: []int32{0}, Outputs: []int32{2},
		Tensors:   []tflitetest.Tensor{{Name: "x", Shape: []int32{1, inner}}, weight, {Name: "y", Shape: []int32{1, units}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("FULLY_CONNECTED")), In: []int32{0, 1, -1}, Out: []int32{2}}}})
	in := tensor.Of([]int{1, inner}, x)
	real, quantised := outputs(t, file, map[string]string{hybridOption: "float"}, in)[0], outputs(t, file, nil, in)[0]
	apart := 0.0
	for u := range units {
		want := 0.0
		for k, v := range x {
			want += float64(v) * float64(weight.Scale[0]) * float64(w[u*inner+k])
		}
		if d := math.Abs(real.Float(u) - want); d > 1e-5 {
			t.Errorf("unit %d: %v, not %v", u, real.Float(u), want)
		}
		apart = max(apart, math.Abs(quantised.Float(u)-want))
	}
	if apart < 1e-4 {
		t.Errorf("quantised data are %v from real numbers, so that this compares nothing", apart)
	}
}
