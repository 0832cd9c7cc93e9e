package mxnet

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// apply evaluates one operator with attributes in JSON of operands, of which it has n results.
func applied(t *testing.T, op, attrs string, n int, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	var nodes, refs, heads []string
	for i, x := range in {
		shape := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(x.Shape), "[]")), ", ")
		nodes = append(nodes, fmt.Sprintf(`{"op": "null", "name": "x%d", "inputs": [], "attrs": {"__shape__": "(%s,)"}}`, i, shape))
		refs = append(refs, fmt.Sprintf("[%d, 0, 0]", i))
	}
	nodes = append(nodes, fmt.Sprintf(`{"op": "%s", "name": "y", "attrs": {%s}, "inputs": [%s]}`, op, attrs, strings.Join(refs, ", ")))
	for k := range n {
		heads = append(heads, fmt.Sprintf("[%d, %d, 0]", len(in), k))
	}
	m, err := Read([]byte(fmt.Sprintf(`{"nodes": [%s], "heads": [%s]}`, strings.Join(nodes, ", "), strings.Join(heads, ", "))), params(nil))
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	byName := map[string]*tensor.Tensor{}
	for i, x := range in {
		byName[fmt.Sprintf("x%d", i)] = x
	}
	var given []*tensor.Tensor
	for _, v := range g.Inputs {
		given = append(given, byName[v.Name])
	}
	out, err := grapheval.Eval(g, given)
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	return out
}

func check(t *testing.T, what string, got *tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%s: %v has %d elements instead of %d", what, got.Shape, got.Len(), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(got.Float(i) - w); !(d <= 3e-6*math.Max(1, math.Abs(w))) {
			t.Errorf("%s: element %d is %v instead of %v", what, i, got.Float(i), w)
			return
		}
	}
}

func of(shape []int, v ...float32) *tensor.Tensor { return tensor.Of(shape, v) }

// Operators whose results are found by hand.
func TestRows(t *testing.T) {
	x := of([]int{2, 3}, 1, -2, 3, 0.5, 5, -6)
	y := of([]int{2, 3}, 2, 2, 3, 4, 4, 4)
	for _, c := range []struct {
		op, attrs string
		in        []*tensor.Tensor
		want      []float64
	}{
		{"broadcast_power", ``, []*tensor.Tensor{y, y}, []float64{4, 4, 27, 256, 256, 256}},
		{"_rpower_scalar", `"scalar": "2"`, []*tensor.Tensor{x}, []float64{2, 0.25, 8, math.Sqrt2, 32, 1. / 64}},
		{"broadcast_greater", ``, []*tensor.Tensor{x, y}, []float64{0, 0, 0, 0, 1, 0}},
		{"_equal_scalar", `"scalar": "3"`, []*tensor.Tensor{x}, []float64{0, 0, 1, 0, 0, 0}},
		{"round", ``, []*tensor.Tensor{of([]int{3}, 0.5, -0.5, 1.4)}, []float64{1, -1, 1}},
		{"smooth_l1", `"scalar": "1"`, []*tensor.Tensor{of([]int{2}, 0.5, -3)}, []float64{0.125, 2.5}},
		{"cbrt", ``, []*tensor.Tensor{of([]int{2}, -8, 27)}, []float64{-2, 3}},
		{"mean", `"axis": "(0,)", "exclude": "True"`, []*tensor.Tensor{x}, []float64{2. / 3, -0.5 / 3}},
		{"norm", `"ord": "2", "axis": "1"`, []*tensor.Tensor{of([]int{1, 2}, 3, 4)}, []float64{5}},
		{"softmin", `"axis": "0"`, []*tensor.Tensor{of([]int{2}, 0, float32(-math.Log(3)))}, []float64{0.25, 0.75}},
		{"softmax", `"temperature": "2.0"`, []*tensor.Tensor{of([]int{2}, 0, float32(2*math.Log(3)))}, []float64{0.25, 0.75}},
		{"slice", `"begin": "(0, None)", "end": "(1, 2)", "step": "(1, 1)"`, []*tensor.Tensor{x}, []float64{1, -2}},
		{"slice", `"begin": "(None, None)", "end": "(None, None)", "step": "(1, -1)"`, []*tensor.Tensor{x}, []float64{3, -2, 1, -6, 5, 0.5}},
		{"slice_like", `"axes": "(1,)"`, []*tensor.Tensor{x, of([]int{1, 2}, 0, 0)}, []float64{1, -2, 0.5, 5}},
		{"Crop", `"offset": "(1, 0)", "h_w": "(1, 1)", "num_args": "1"`, []*tensor.Tensor{of([]int{1, 1, 2, 2}, 1, 2, 3, 4)}, []float64{3}},
		{"broadcast_axis", `"axis": "0", "size": "2"`, []*tensor.Tensor{of([]int{1, 2}, 1, 2)}, []float64{1, 2, 1, 2}},
		{"tile", `"reps": "(2, 1)"`, []*tensor.Tensor{of([]int{2}, 1, 2)}, []float64{1, 2, 1, 2}},
		{"repeat", `"repeats": "2"`, []*tensor.Tensor{of([]int{2}, 1, 2)}, []float64{1, 1, 2, 2}},
		{"take", `"mode": "wrap"`, []*tensor.Tensor{of([]int{3}, 1, 2, 3), of([]int{2}, -1, 4)}, []float64{3, 2}},
		{"take", ``, []*tensor.Tensor{of([]int{3}, 1, 2, 3), of([]int{2}, -1, 4)}, []float64{1, 3}},
		{"pick", `"axis": "1"`, []*tensor.Tensor{x, of([]int{2}, 2, 0)}, []float64{3, 0.5}},
		{"batch_take", ``, []*tensor.Tensor{x, of([]int{2}, 1, 2)}, []float64{-2, -6}},
		{"gather_nd", ``, []*tensor.Tensor{x, of([]int{2, 2}, 0, 1, 2, 0)}, []float64{3, 0.5}},
		{"one_hot", `"depth": "3", "on_value": "5"`, []*tensor.Tensor{of([]int{1}, 1)}, []float64{0, 5, 0}},
		{"argmax", `"axis": "1"`, []*tensor.Tensor{x}, []float64{2, 1}},
		{"argsort", `"is_ascend": "False"`, []*tensor.Tensor{x}, []float64{2, 0, 1, 1, 0, 2}},
		{"sort", ``, []*tensor.Tensor{x}, []float64{-2, 1, 3, -6, 0.5, 5}},
		{"topk", `"k": "1", "ret_typ": "mask"`, []*tensor.Tensor{x}, []float64{0, 0, 1, 0, 1, 0}},
		{"topk", `"k": "2", "ret_typ": "value", "is_ascend": "True"`, []*tensor.Tensor{x}, []float64{-2, 1, -6, 0.5}},
		{"_contrib_arange_like", `"axis": "1", "start": "1"`, []*tensor.Tensor{x}, []float64{1, 2, 3}},
		{"reshape", `"shape": "(-1, 0)", "reverse": "True"`, []*tensor.Tensor{of([]int{2, 1, 1}, 7, 8)}, []float64{7, 8}},
		{"dot", `"transpose_b": "True"`, []*tensor.Tensor{of([]int{2}, 1, 2), of([]int{1, 2}, 3, 4)}, []float64{11}},
		{"where", ``, []*tensor.Tensor{of([]int{2}, 1, 0), x, y}, []float64{1, -2, 3, 4, 4, 4}},
		{"SequenceMask", `"use_sequence_length": "True", "value": "9"`, []*tensor.Tensor{of([]int{2, 2}, 1, 2, 3, 4), of([]int{2}, 1, 2)}, []float64{1, 2, 9, 4}},
		{"SequenceLast", `"use_sequence_length": "True"`, []*tensor.Tensor{of([]int{2, 2, 1}, 1, 2, 3, 4), of([]int{2}, 1, 2)}, []float64{1, 4}},
		{"SequenceReverse", `"use_sequence_length": "True"`, []*tensor.Tensor{of([]int{2, 2}, 1, 2, 3, 4), of([]int{2}, 1, 2)}, []float64{1, 4, 3, 2}},
		{"space_to_depth", `"block_size": "2"`, []*tensor.Tensor{of([]int{1, 1, 2, 2}, 1, 2, 3, 4)}, []float64{1, 2, 3, 4}},
		{"GroupNorm", `"num_groups": "2", "eps": "0"`, []*tensor.Tensor{of([]int{1, 4, 1}, 1, 3, 10, 30), of([]int{2}, 1, 2), of([]int{2}, 0, 5)}, []float64{-1, 1, 3, 7}},
		{"_contrib_AdaptiveAvgPooling2D", `"output_size": "(1, 2)"`, []*tensor.Tensor{of([]int{1, 1, 1, 3}, 1, 3, 8)}, []float64{2, 5.5}},
		{"_contrib_BilinearResize2D", `"height": "1", "width": "3"`, []*tensor.Tensor{of([]int{1, 1, 1, 2}, 1, 3)}, []float64{1, 2, 3}},
		{"_contrib_DeformableConvolution", `"kernel": "(1, 1)", "num_filter": "1", "no_bias": "True"`, []*tensor.Tensor{of([]int{1, 1, 1, 2}, 1, 3), of([]int{1, 2, 1, 2}, 0, 0, 0.5, 0.5), of([]int{1, 1, 1, 1}, 2)}, []float64{4, 6}},
		{"_contrib_ModulatedDeformableConvolution", `"kernel": "(1, 1)", "num_filter": "1"`, []*tensor.Tensor{of([]int{1, 1, 1, 2}, 1, 3), of([]int{1, 2, 1, 2}, 0, 0, 0.5, 0.5), of([]int{1, 1, 1, 2}, 1, 0.5), of([]int{1, 1, 1, 1}, 2), of([]int{1}, 1)}, []float64{5, 2.5}},
		{"SpatialTransformer", `"target_shape": "(1, 2)", "transform_type": "affine", "sampler_type": "bilinear"`, []*tensor.Tensor{of([]int{1, 1, 1, 3}, 1, 3, 5), of([]int{1, 6}, 0.5, 0, 0, 0, 1, 1)}, []float64{2, 4}},
		{"GridGenerator", `"target_shape": "(2, 2)", "transform_type": "affine"`, []*tensor.Tensor{of([]int{1, 6}, 0.5, 0, 0, 0, 1, 1)}, []float64{-0.5, 0.5, -0.5, 0.5, 0, 0, 2, 2}},
		{"GridGenerator", `"transform_type": "warp"`, []*tensor.Tensor{of([]int{1, 2, 2, 3}, 1, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0)}, []float64{0, 0, 1, -1, 0, 1, -1, -1, 0, 1, 1, 1}},
		{"Correlation", `"kernel_size": "1", "max_displacement": "1", "pad_size": "1", "is_multiply": "True"`, []*tensor.Tensor{of([]int{1, 2, 1, 1}, 1, 2), of([]int{1, 2, 1, 1}, 3, 4)}, []float64{0, 0, 0, 0, 5.5, 0, 0, 0, 0}},
		{"_contrib_PSROIPooling", `"spatial_scale": "1", "output_dim": "1", "pooled_size": "2", "group_size": "2"`, []*tensor.Tensor{of([]int{1, 4, 2, 2}, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4), of([]int{1, 5}, 0, 0, 0, 1, 1)}, []float64{1, 2, 3, 4}},
		{"_contrib_Proposal", `"feature_stride": "4", "scales": "(1,)", "ratios": "(1,)", "rpn_min_size": "1", "rpn_post_nms_top_n": "2"`, []*tensor.Tensor{of([]int{1, 2, 1, 1}, 0.2, 0.8), of([]int{1, 4, 1, 1}, 0, 0, 0, 0), of([]int{1, 3}, 4, 4, 1)}, []float64{0, 0, 0, 3, 3, 0, 0, 0, 3, 3}},
		{"MultiBoxPrior", `"sizes": "(0.5,)", "ratios": "(1, 4)"`, []*tensor.Tensor{of([]int{1, 1, 1, 1}, 0)}, []float64{0.25, 0.25, 0.75, 0.75, 0, 0.375, 1, 0.625}},
		{"_contrib_interleaved_matmul_selfatt_qk", `"heads": "1"`, []*tensor.Tensor{of([]int{2, 1, 3}, 1, 2, 3, 4, 5, 6)}, []float64{2, 5, 8, 20}},
		{"_contrib_interleaved_matmul_selfatt_valatt", `"heads": "1"`, []*tensor.Tensor{of([]int{2, 1, 3}, 1, 2, 3, 4, 5, 6), of([]int{1, 2, 2}, 1, 0, 0.5, 0.5)}, []float64{3, 4.5}},
	} {
		check(t, c.op+" "+c.attrs, applied(t, c.op, c.attrs, 1, c.in...)[0], c.want...)
	}
	parts := applied(t, "_split_v2", `"indices": "(0, 1)", "axis": "1"`, 2, x)
	check(t, "_split_v2", parts[0], 1, 0.5)
	check(t, "_split_v2", parts[1], -2, 3, 5, -6)
}

// Two classes, four anchors: the second box overlaps the first one of its class, the third is of another class, the fourth below the threshold.
func TestMultiBoxDetection(t *testing.T) {
	p := of([]int{1, 3, 4}, 0.1, 0.2, 0.3, 1, 0.9, 0.7, 0.1, 0, 0, 0.1, 0.6, 0)
	anchors := of([]int{1, 4, 4}, 0, 0, 0.4, 0.4, 0, 0, 0.4, 0.5, 0, 0, 0.4, 0.4, 0.5, 0.5, 1, 1)
	offsets := make([]float32, 16)
	offsets[0] = 1 // the first box moves by a tenth of its width
	out := applied(t, "_contrib_MultiBoxDetection", `"nms_threshold": "0.5", "threshold": "0.05"`, 1, p, of([]int{1, 16}, offsets...), anchors)
	check(t, "MultiBoxDetection", out[0], 0, 0.9, 0.04, 0, 0.44, 0.4, -1, 0.7, 0, 0, 0.4, 0.5, 1, 0.6, 0, 0, 0.4, 0.4, -1, -1, -1, -1, -1, -1)
}

func TestBoxNMS(t *testing.T) {
	x := of([]int{1, 3, 6}, 0, 0.5, 0, 0, 1, 1, 0, 0.9, 0, 0, 1, 1.2, 1, 0.4, 0, 0, 1, 1)
	out := applied(t, "_contrib_box_nms", `"overlap_thresh": "0.5", "id_index": "0", "score_index": "1", "coord_start": "2"`, 1, x)
	check(t, "box_nms", out[0], 0, 0.9, 0, 0, 1, 1.2, 1, 0.4, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1)
}

// A GRU of both directions and two steps, with the reset gate behind the product, and its last states.
func TestRNN(t *testing.T) {
	const units = 2
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	n := 2 * (3*units*(1+units) + 6*units)
	p := make([]float32, n)
	for i := range p {
		p[i] = float32(math.Sin(float64(3*i + 1)))
	}
	x := []float64{0.5, -1.5}
	weights := func(d int) (w, r, bw, br []float32) {
		each := 3*units*1 + 3*units*units
		w, r = p[d*each:][:3*units], p[d*each+3*units:][:3*units*units]
		b := p[2*each+d*6*units:]
		return w, r, b[:3*units], b[3*units:][:3*units]
	}
	want := make([]float64, 2*2*units)
	var last []float64
	for d := range 2 {
		w, r, bw, br := weights(d)
		h := make([]float64, units)
		for s := range 2 {
			at := s
			if d == 1 {
				at = 1 - s
			}
			next := make([]float64, units)
			for u := range units {
				part := func(g int) (in, state float64) {
					k := g*units + u
					in, state = float64(w[k])*x[at]+float64(bw[k]), float64(br[k])
					for i := range units {
						state += float64(r[k*units+i]) * h[i]
					}
					return in, state
				}
				ri, rs := part(0)
				zi, zs := part(1)
				ni, ns := part(2)
				z := sigmoid(zi + zs)
				next[u] = (1-z)*math.Tanh(ni+sigmoid(ri+rs)*ns) + z*h[u]
			}
			h = next
			copy(want[at*2*units+d*units:], h)
		}
		last = append(last, h...)
	}
	out := applied(t, "RNN", `"mode": "gru", "state_size": "2", "num_layers": "1", "bidirectional": "True", "state_outputs": "True"`, 2,
		of([]int{2, 1, 1}, 0.5, -1.5), of([]int{n}, p...), of([]int{2, 1, units}, 0, 0, 0, 0))
	check(t, "RNN", out[0], want...)
	check(t, "RNN's state", out[1], last...)
}
