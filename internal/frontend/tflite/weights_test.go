package tflite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/testkit/tflitetest"
)

// dense is a layer of float32 data by a weight [units, inner] that is a tensor of its own kind.
func dense(weight tflitetest.Tensor, inner, units int32) []byte {
	return tflitetest.Model(tflitetest.Graph{Inputs: []int32{0}, Outputs: []int32{2},
		Tensors:   []tflitetest.Tensor{{Name: "x", Shape: []int32{1, inner}}, weight, {Name: "y", Shape: []int32{1, units}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("FULLY_CONNECTED")), In: []int32{0, 1, -1}, Out: []int32{2}}}})
}

// multiplied compares a layer with products in float64.
func multiplied(t *testing.T, what string, file []byte, inner, units int, weight func(unit, k int) float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, inner)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	y := outputs(t, file, map[string]string{hybridOption: "float"}, tensor.Of([]int{1, inner}, x))[0]
	for u := range units {
		want := 0.0
		for k, v := range x {
			want += float64(v) * weight(u, k)
		}
		if d := math.Abs(y.Float(u) - want); !(d < 1e-4) {
			t.Errorf("%s: unit %d is %v, not %v", what, u, y.Float(u), want)
		}
	}
}

// TestInt4Weights: two weights are in a byte, the first in its low half; an odd number leaves half of the last byte.
func TestInt4Weights(t *testing.T) {
	const inner, units = 5, 3
	packed := []byte{0x8f, 0x71, 0x25, 0xe0, 0x9a, 0x3c, 0x46, 0x07}
	scales := []float32{0.5, 0.25, 2}
	weight := tflitetest.Tensor{Name: "w", Type: int8(elemInt4), Shape: []int32{units, inner}, Data: packed, Scale: scales, Zero: []int64{0, 0, 0}}
	multiplied(t, "int4", dense(weight, inner, units), inner, units, func(u, k int) float64 {
		i := u*inner + k
		q := int(packed[i/2]>>(4*(i%2))) & 15
		if q > 7 {
			q -= 16
		}
		return float64(q) * float64(scales[u])
	})
}

// TestSparseWeights: a matrix in compressed rows, and one of blocks of which a row of blocks is compressed.
func TestSparseWeights(t *testing.T) {
	level := func(size int32) tflitetest.Table { return tflitetest.Table{0: int8(0), 1: size} }
	compressed := func(tag uint8, segments, indices any) tflitetest.Table {
		return tflitetest.Table{0: int8(1), 1: int32(0), 2: tag, 3: tflitetest.Table{0: segments}, 4: tag, 5: tflitetest.Table{0: indices}}
	}
	floats := func(v ...float32) []byte { return tensor.Of([]int{len(v)}, v).Bytes() }
	// 0 1 0 2
	// 0 0 0 0
	// 3 0 4 0
	rows := tflitetest.Tensor{Name: "w", Shape: []int32{3, 4}, Data: floats(1, 2, 3, 4), Sparsity: tflitetest.Table{0: []int32{0, 1}, 2: []tflitetest.Table{level(3), compressed(1, []int32{0, 2, 2, 4}, []int32{1, 3, 0, 2})}}}
	want := []float64{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0}
	multiplied(t, "rows", dense(rows, 4, 3), 4, 3, func(u, k int) float64 { return want[4*u+k] })
	// Blocks of 2x2: [1 2; 3 4] at the right above, [5 6; 7 8] at the left below. Counts are bytes.
	blocks := tflitetest.Tensor{Name: "w", Shape: []int32{4, 4}, Data: floats(1, 2, 3, 4, 5, 6, 7, 8),
		Sparsity: tflitetest.Table{0: []int32{0, 1, 2, 3}, 1: []int32{0, 1}, 2: []tflitetest.Table{level(2), compressed(3, []byte{0, 1, 2}, []byte{1, 0}), level(2), level(2)}}}
	want = []float64{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}
	multiplied(t, "blocks", dense(blocks, 4, 4), 4, 4, func(u, k int) float64 { return want[4*u+k] })
}

// TestNormalisedLSTM compares an LSTM with layer normalisation, peepholes, projection and bounds with its equations in float64.
func TestNormalisedLSTM(t *testing.T) {
	const inputs, cells, units, steps = 3, 4, 2, 5
	const cellClip, projectionClip = 0.6, 0.35
	r := rand.New(rand.NewPCG(7, 8))
	var g tflitetest.Graph
	values := map[int][]float64{} // of constants, by the place of the operand
	o := tflitetest.Operator{Code: int32(codeOf("UNIDIRECTIONAL_SEQUENCE_LSTM")), Options: tflitetest.Table{0: int8(fusedTanh), 1: float32(cellClip), 2: float32(projectionClip), 3: true}}
	add := func(x tflitetest.Tensor) {
		o.In = append(o.In, int32(len(g.Tensors)))
		g.Tensors = append(g.Tensors, x)
	}
	random := func(shape ...int32) {
		n := 1
		for _, d := range shape {
			n *= int(d)
		}
		data, place := make([]float32, n), len(o.In)
		for i := range data {
			data[i] = float32(r.NormFloat64())
			values[place] = append(values[place], float64(data[i]))
		}
		add(tflitetest.Tensor{Name: fmt.Sprintf("c%d", place), Shape: shape, Data: tensor.Of([]int{n}, data).Bytes()})
	}
	add(tflitetest.Tensor{Name: "x", Shape: []int32{steps, 1, inputs}})
	for range 4 {
		random(cells, inputs)
	}
	for range 4 {
		random(cells, units)
	}
	for range 7 { // peepholes and biases
		random(cells)
	}
	random(units, cells)
	random(units)
	add(tflitetest.Tensor{Name: "h", Shape: []int32{1, units}, Variable: true})
	add(tflitetest.Tensor{Name: "c", Shape: []int32{1, cells}, Variable: true})
	for range 4 {
		random(cells)
	}
	o.Out = []int32{int32(len(g.Tensors))}
	g.Tensors = append(g.Tensors, tflitetest.Tensor{Name: "y", Shape: []int32{steps, 1, units}})
	g.Inputs, g.Outputs, g.Operators = []int32{0}, o.Out, []tflitetest.Operator{o}

	x := make([]float32, steps*inputs)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	got := outputs(t, tflitetest.Model(g), nil, tensor.Of([]int{steps, 1, inputs}, x))[0]

	h, c := make([]float64, units), make([]float64, cells)
	clip := func(v, bound float64) float64 { return min(max(v, -bound), bound) }
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for s := range steps {
		gate := func(k, peephole int, cell []float64) []float64 {
			sum, mean, square := make([]float64, cells), 0.0, 0.0
			for u := range sum {
				for i := range inputs {
					sum[u] += values[lstmInput+k][u*inputs+i] * float64(x[s*inputs+i])
				}
				for i := range units {
					sum[u] += values[lstmRecurrent+k][u*units+i] * h[i]
				}
				if peephole >= 0 {
					sum[u] += values[lstmPeephole+peephole][u] * cell[u]
				}
				mean += sum[u] / cells
			}
			for _, v := range sum {
				square += (v - mean) * (v - mean) / cells
			}
			for u := range sum {
				sum[u] = (sum[u]-mean)/math.Sqrt(square+1e-8)*values[lstmNorm+k][u] + values[lstmBias+k][u]
			}
			return sum
		}
		in, forget, candidate := gate(0, 0, c), gate(1, 1, c), gate(2, -1, nil)
		next := make([]float64, cells)
		for u := range next {
			next[u] = clip(sigmoid(forget[u])*c[u]+sigmoid(in[u])*math.Tanh(candidate[u]), cellClip)
		}
		out := gate(3, 2, next)
		c = next
		for p := range units {
			y := values[lstmProjectionBias][p]
			for u := range cells {
				y += values[lstmProjection][p*cells+u] * sigmoid(out[u]) * math.Tanh(c[u])
			}
			h[p] = clip(y, projectionClip)
			if d := math.Abs(got.Float(s*units+p) - h[p]); !(d < 1e-5) {
				t.Errorf("step %d, unit %d: %v, not %v", s, p, got.Float(s*units+p), h[p])
			}
		}
	}
}
