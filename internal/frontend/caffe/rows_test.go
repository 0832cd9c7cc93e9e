package caffe

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// applied evaluates one layer with its parameters and blobs.
func applied(t *testing.T, kind, text string, blobs [][]byte, in ...*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	var net strings.Builder
	bottoms := ""
	for i, x := range in {
		fmt.Fprintf(&net, "layer { name: \"x%d\" type: \"Input\" top: \"x%d\" input_param { shape {", i, i)
		for _, d := range x.Shape {
			fmt.Fprintf(&net, " dim: %d", d)
		}
		net.WriteString(" } } }\n")
		bottoms += fmt.Sprintf(" bottom: \"x%d\"", i)
	}
	fmt.Fprintf(&net, "layer { name: \"l\" type: %q%s top: \"l\" %s }\n", kind, bottoms, text)
	m, err := Read([]byte(net.String()), layerMessage(false, "l", blobs...))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return out[0]
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

// Layers whose results are found by hand.
func TestRows(t *testing.T) {
	x := of([]int{1, 2, 1, 2}, 1, -2, 3, 4)
	four := make([]float32, 16)
	for i := range four {
		four[i] = float32(i)
	}
	for _, c := range []struct {
		kind, text string
		blobs      [][]byte
		in         []*tensor.Tensor
		want       []float64
	}{
		{"Reduction", `reduction_param { operation: SUMSQ axis: 1 coeff: 2 }`, nil, []*tensor.Tensor{x}, []float64{60}},
		{"Reduction", `reduction_param { operation: MEAN axis: 2 }`, nil, []*tensor.Tensor{x}, []float64{-0.5, 3.5}},
		{"ArgMax", `argmax_param { out_max_val: true }`, nil, []*tensor.Tensor{x}, []float64{3, 4}},
		{"ArgMax", `argmax_param { axis: 3 }`, nil, []*tensor.Tensor{x}, []float64{0, 1}},
		{"Tile", `tile_param { axis: 3 tiles: 2 }`, nil, []*tensor.Tensor{x}, []float64{1, -2, 1, -2, 3, 4, 3, 4}},
		{"Embed", `embed_param { input_dim: 2 num_output: 2 bias_term: true }`, [][]byte{blobMessage(false, true, []int{2, 2}, []float32{1, 2, 3, 4}), blobMessage(false, true, []int{2}, []float32{10, 20})},
			[]*tensor.Tensor{of([]int{2}, 1, 0)}, []float64{13, 24, 11, 22}},
		{"MVN", `mvn_param { eps: 0 }`, nil, []*tensor.Tensor{x}, []float64{1, -1, -1, 1}},
		{"MVN", `mvn_param { normalize_variance: false across_channels: true }`, nil, []*tensor.Tensor{x}, []float64{-0.5, -3.5, 1.5, 2.5}},
		{"Normalize", `norm_param { across_spatial: false channel_shared: false eps: 0 }`, [][]byte{blobMessage(false, true, []int{2}, []float32{10, 20})}, []*tensor.Tensor{of([]int{1, 2, 1, 1}, 3, 4)}, []float64{6, 16}},
		{"Interp", `interp_param { height: 1 width: 3 }`, nil, []*tensor.Tensor{x}, []float64{1, -0.5, -2, 3, 3.5, 4}},
		{"Interp", `interp_param { zoom_factor: 2 pad_end: -1 }`, nil, []*tensor.Tensor{of([]int{1, 1, 2, 3}, 1, 3, 9, 9, 9, 9)}, []float64{1, 2, 3}},
		{"ShuffleChannel", `shuffle_channel_param { group: 2 }`, nil, []*tensor.Tensor{of([]int{1, 4, 1, 1}, 1, 2, 3, 4)}, []float64{1, 3, 2, 4}},
		{"SPP", `spp_param { pyramid_height: 2 pool: MAX }`, nil, []*tensor.Tensor{of([]int{1, 1, 4, 4}, four...)}, []float64{15, 5, 7, 13, 15}},
		{"Upsample", `upsample_param { scale: 2 }`, nil, []*tensor.Tensor{of([]int{1, 1, 1, 2}, 1, 2)}, []float64{1, 1, 2, 2, 1, 1, 2, 2}},
		{"Axpy", ``, nil, []*tensor.Tensor{of([]int{1, 2, 1, 1}, 2, 3), x, x}, []float64{3, -6, 12, 16}},
		{"Exp", `exp_param { base: 2 scale: 1 shift: 1 }`, nil, []*tensor.Tensor{x}, []float64{4, 0.5, 16, 32}},
		{"Log", `log_param { base: 10 shift: 2 }`, nil, []*tensor.Tensor{of([]int{1}, 98)}, []float64{2}},
		{"Threshold", `threshold_param { threshold: 1 }`, nil, []*tensor.Tensor{x}, []float64{0, 0, 1, 1}},
		{"Clip", `clip_param { min: 0 max: 3 }`, nil, []*tensor.Tensor{x}, []float64{1, 0, 3, 3}},
		{"CReLU", ``, nil, []*tensor.Tensor{of([]int{1, 1}, -2)}, []float64{0, 2}},
		{"Reshape", `reshape_param { axis: 1 num_axes: 2 shape { dim: -1 } }`, nil, []*tensor.Tensor{x}, []float64{1, -2, 3, 4}},
		{"LRN", `lrn_param { norm_region: WITHIN_CHANNEL local_size: 1 alpha: 2 beta: 1 }`, nil, []*tensor.Tensor{of([]int{1, 1, 1, 1}, 2)}, []float64{2. / 9}},
		{"Reorg", `reorg_param { stride: 2 reverse: true }`, nil, []*tensor.Tensor{of([]int{1, 4, 1, 1}, 1, 2, 3, 4)}, []float64{1, 2, 3, 4}},
		{"Proposal", `proposal_param { feat_stride: 4 base_size: 4 ratio: 1 scale: 1 min_size: 1 post_nms_topn: 2 }`, nil, []*tensor.Tensor{of([]int{1, 2, 1, 1}, 0.2, 0.8), of([]int{1, 4, 1, 1}, 0, 0, 0, 0), of([]int{1, 3}, 10, 10, 1)}, []float64{0, 0, 0, 4, 4, 0, 0, 0, 4, 4}},
		{"PSROIPooling", `psroi_pooling_param { spatial_scale: 1 output_dim: 1 group_size: 2 }`, nil, []*tensor.Tensor{of([]int{1, 4, 2, 2}, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4), of([]int{1, 5}, 0, 0, 0, 1, 1)}, []float64{1, 2, 3, 4}},
		{"PriorBox", `prior_box_param { min_size: 10 max_size: 40 aspect_ratio: 4 flip: true clip: false variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 step: 0 offset: 0.5 }`, nil,
			[]*tensor.Tensor{of([]int{1, 1, 1, 1}, 0), tensor.New(x.DType, 1, 3, 100, 100)},
			[]float64{0.45, 0.45, 0.55, 0.55, 0.4, 0.4, 0.6, 0.6, 0.4, 0.475, 0.6, 0.525, 0.475, 0.4, 0.525, 0.6, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2}},
	} {
		check(t, c.kind+" "+c.text, applied(t, c.kind, c.text, c.blobs, c.in...), c.want...)
	}
}

// Sequences that begin where an indicator is 0, with data for all steps and without.
func TestRecurrent(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	weights := func(v ...float32) []byte { return blobMessage(false, true, []int{len(v), 1}, v) }
	bias := func(v ...float32) []byte { return blobMessage(false, true, []int{len(v)}, v) }
	x, steady := []float64{1, -2, 0.5, 3, -1, 2}, 0.25
	on := []float64{0, 1, 1, 0, 1, 1}
	data, indicators := of([]int{6, 1, 1}, 1, -2, 0.5, 3, -1, 2), of([]int{6, 1}, 0, 1, 1, 0, 1, 1)
	for _, static := range []bool{false, true} {
		in, extra := []*tensor.Tensor{data, indicators}, 0.0
		lstm, rnn := [][]byte{weights(1, 0.5, -1, 2), bias(0, 0.1, 0.2, 0.3)}, [][]byte{weights(2), bias(0.5)}
		if static {
			in, extra = append(in, of([]int{1, 1}, float32(steady))), steady
			lstm, rnn = append(lstm, weights(1, 1, 1, 1)), append(rnn, weights(1))
		}
		lstm, rnn = append(lstm, weights(0.3, -0.4, 0.5, 0.6)), append(rnn, weights(-0.7), weights(0.8), bias(0.1))
		h, cell, s := 0.0, 0.0, 0.0
		var wantLSTM, wantRNN []float64
		for k, v := range x {
			h, cell, s = h*on[k], cell*on[k], s*on[k]
			i, f, o, g := sigmoid(v+extra+0.3*h), sigmoid(0.5*v+0.1+extra-0.4*h), sigmoid(-v+0.2+extra+0.5*h), math.Tanh(2*v+0.3+extra+0.6*h)
			cell = f*cell + i*g
			h = o * math.Tanh(cell)
			s = math.Tanh(-0.7*s + 2*v + 0.5 + extra)
			wantLSTM, wantRNN = append(wantLSTM, h), append(wantRNN, math.Tanh(0.8*s+0.1))
		}
		check(t, "LSTM", applied(t, "LSTM", `recurrent_param { num_output: 1 }`, lstm, in...), wantLSTM...)
		check(t, "RNN", applied(t, "RNN", `recurrent_param { num_output: 1 }`, rnn, in...), wantRNN...)
	}
}

// The layer of py-faster-rcnn is Proposal; other code is named.
func TestPythonLayers(t *testing.T) {
	net := `layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 18 dim: 2 dim: 3 } } } layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 36 dim: 2 dim: 3 } } }
		layer { name: "i" type: "Input" top: "i" input_param { shape { dim: 1 dim: 3 } } }
		layer { name: "rois" type: "Python" bottom: "x" bottom: "d" bottom: "i" top: "rois" python_param { module: 'rpn.proposal_layer' layer: 'ProposalLayer' param_str: "'feat_stride': 16" } }`
	m, err := Read([]byte(net), layerMessage(false, "l"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Outputs[0].Type.Shape; got[0] != 300 || got[1] != 5 {
		t.Error(got)
	}
	m, err = Read([]byte(strings.ReplaceAll(net, "'ProposalLayer'", "'Other'")), layerMessage(false, "l"))
	if err == nil {
		_, err = frontend.Import(m, frontend.Options{})
	}
	if err == nil || !strings.Contains(err.Error(), "Python layer Other (1 node") {
		t.Error(err)
	}
}

// reorganised is Darknet's loop.
func reorganised(x []float32, c, h, w, stride int) []float64 {
	out := make([]float64, len(x))
	outC := c / (stride * stride)
	for k := range c {
		for j := range h {
			for i := range w {
				offset := k / outC
				w2, h2 := i*stride+offset%stride, j*stride+offset/stride
				out[i+w*(j+h*k)] = float64(x[w2+w*stride*(h2+h*stride*(k%outC))])
			}
		}
	}
	return out
}

func TestReorg(t *testing.T) {
	x := tensor.New(of([]int{1}, 0).DType, 1, 8, 4, 6)
	v := make([]float32, x.Len())
	for i := range v {
		v[i] = float32(i)
		x.SetFloat(i, float64(i))
	}
	check(t, "Reorg", applied(t, "Reorg", `reorg_param { stride: 2 }`, nil, x), reorganised(v, 8, 4, 6, 2)...)
}

// Three anchors and two classes behind the background: the second box overlaps the first, the third is alone and has both classes.
func TestDetectionOutput(t *testing.T) {
	loc := of([]int{1, 12}, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	conf := of([]int{1, 9}, 0.1, 0.9, 0, 0.2, 0.8, 0, 0.1, 0.3, 0.6)
	priors := of([]int{1, 2, 12}, 0, 0, 0.4, 0.4, 0, 0, 0.4, 0.5, 0.5, 0.5, 1, 1, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2)
	out := applied(t, "DetectionOutput", `detection_output_param { num_classes: 3 share_location: true background_label_id: 0 nms_param { nms_threshold: 0.45 top_k: 10 } code_type: CENTER_SIZE keep_top_k: 4 confidence_threshold: 0.25 }`, nil, loc, conf, priors)
	check(t, "DetectionOutput", out, 0, 1, 0.9, 0.04, 0, 0.44, 0.4, 0, 1, 0.3, 0.5, 0.5, 1, 1, 0, 2, 0.6, 0.5, 0.5, 1, 1, -1, -1, -1, -1, -1, -1, -1)
}
