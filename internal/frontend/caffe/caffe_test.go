package caffe

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// blobMessage writes a blob, packed or value by value, with its shape as a list or as the four extents of old files.
func blobMessage(old, packed bool, shape []int, values []float32) (b []byte) {
	if old {
		for i := range 4 {
			d := 1
			if k := i - (4 - len(shape)); k >= 0 {
				d = shape[k]
			}
			b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(i+1), protowire.VarintType), uint64(d))
		}
	} else {
		var dims []byte
		for _, d := range shape {
			dims = protowire.AppendVarint(dims, uint64(d))
		}
		dims = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), dims)
		b = protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), dims)
	}
	var data []byte
	for _, v := range values {
		if packed {
			data = protowire.AppendFixed32(data, math.Float32bits(v))
		} else {
			b = protowire.AppendFixed32(protowire.AppendTag(b, 5, protowire.Fixed32Type), math.Float32bits(v))
		}
	}
	if packed {
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), data)
	}
	return b
}

// layerMessage writes a layer with blobs in a net; field 100, or 2 of the first form.
func layerMessage(first bool, name string, blobs ...[]byte) []byte {
	field, nameField, blobField := protowire.Number(100), protowire.Number(1), protowire.Number(7)
	if first {
		field, nameField, blobField = 2, 4, 6
	}
	l := protowire.AppendString(protowire.AppendTag(nil, nameField, protowire.BytesType), name)
	for _, b := range blobs {
		l = protowire.AppendBytes(protowire.AppendTag(l, blobField, protowire.BytesType), b)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), l)
}

// net is a network of both forms of layers, with an activation in place and a loss.
const net = `name: "small" # a comment
input: "data" input_dim: 1 input_dim: 3 input_dim: 1 input_dim: 1
layer { name: "label" type: "Data" top: "label" include { phase: TRAIN } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" relu_param { negative_slope: 0.5 } }
layers { name: "norm" type: BATCH_NORM bottom: "ip" top: "norm" batch_norm_param { eps: 0 } }
layer { name: "gamma" type: "Scale" bottom: "norm" top: "gamma" scale_param { bias_term: true } }
layer { name: "loss" type: "EuclideanLoss" bottom: "gamma" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "gamma" bottom: "label" top: "accuracy" }
`

func weights(first, packed bool) []byte {
	b := layerMessage(first, "ip", blobMessage(first, packed, []int{2, 3}, []float32{1, 2, 3, 4, 5, 7}), blobMessage(first, packed, []int{2}, []float32{1, -1}))
	b = append(b, layerMessage(first, "norm", blobMessage(first, packed, []int{2}, []float32{2, 2}), blobMessage(first, packed, []int{2}, []float32{8, 2}), blobMessage(first, packed, []int{1}, []float32{2}))...)
	return append(b, layerMessage(first, "gamma", blobMessage(false, packed, []int{2}, []float32{3, 4}), blobMessage(false, packed, []int{2}, []float32{1, 2}))...)
}

func TestSmall(t *testing.T) {
	for _, first := range []bool{false, true} {
		for _, packed := range []bool{false, true} {
			m, err := Read([]byte(net), weights(first, packed))
			if err != nil {
				t.Fatal(err)
			}
			g, err := frontend.Import(m, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(g.Outputs) != 1 || g.Outputs[0].Name != "loss" || len(g.Inputs) != 1 {
				t.Fatalf("%v %v", g.Inputs, g.Outputs)
			}
			out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1, 3, 1, 1}, []float32{1, 0, -1})})
			if err != nil {
				t.Fatal(err)
			}
			// ip -1 and -4, relu -0.5 and -2, norm (x-1)/2 and (x-1)/1, times 3 and 4 and 1 and 2 more
			for i, want := range []float64{-1.25, -10} {
				if got := out[0].Float(i); math.Abs(got-want) > 1e-6 {
					t.Errorf("first %v packed %v: element %d is %v instead of %v", first, packed, i, got, want)
				}
			}
		}
	}
}

// Without weights, blobs are made up, of the shapes that layers need.
func TestMadeUp(t *testing.T) {
	m, err := Read([]byte(strings.Replace(net, `layer { name: "loss"`, madeUp+`layer { name: "loss"`, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1, 3, 1, 1}, []float32{1, 0, -1})})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		if v := x.Float(0); v == 0 || math.IsNaN(v) {
			t.Errorf("%v", v)
		}
	}
}

// madeUp are the other layers that have blobs.
const madeUp = `layer { name: "up" type: "Deconvolution" bottom: "data" top: "up" convolution_param { num_output: 6 kernel_size: 2 group: 3 } }
layer { name: "down" type: "ConvolutionDepthwise" bottom: "up" top: "down" convolution_param { num_output: 6 kernel_size: 2 bias_term: false } }
layer { name: "slope" type: "PReLU" bottom: "down" top: "slope" }
layer { name: "shift" type: "Bias" bottom: "slope" top: "shift" bias_param { axis: 1 num_axes: -1 } }
`

func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"InnerProduct"`, `"InnerProducts"`, "1 unsupported operator: InnerProducts"},
		{`bottom: "norm"`, `bottom: "none"`, `layer "gamma": bottom "none"`},
		{`num_output: 2`, `num_output: 3`, `blob 0 of layer "ip" is`},
		{`eps: 0`, `eps: 0 wave: 1`, `attribute "wave"`},
		{`name: "gamma"`, `name: "norm"`, "two layers"},
		{`name: "ip"`, `name: "ipp"`, `the weights have 0 blobs for layer "ipp", number 0 is needed: they are of another network`},
		{`type: "ReLU"`, ``, "it has no type"},
		{`relu_param {`, `relu_param {{`, "line 5"},
	} {
		m, err := Read([]byte(strings.Replace(net, c.old, c.new, 1)), weights(false, true))
		if err == nil {
			_, err = frontend.Import(m, frontend.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	good := weights(false, true)
	cut := 0
	for n := range good {
		if _, err := blobsOf(good[:n]); err != nil {
			cut++
		}
	}
	if cut < len(good)-5 { // between layers nothing is missed
		t.Errorf("%d cuts of %d are noticed", cut, len(good))
	}
}

// The weights are the file of the network's name, the one that begins with it, or the only one.
func TestCompanion(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"net.caffemodel", "net_iter.caffemodel"}, "net.caffemodel"},
		{[]string{"net_iter_9.caffemodel", "other.caffemodel"}, "net_iter_9.caffemodel"},
		{[]string{"trained.caffemodel.h5"}, "trained.caffemodel.h5"},
		{nil, ""},
		{[]string{"a.caffemodel", "b.caffemodel"}, ""},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := weightsOf(filepath.Join(dir, "net.prototxt"))
		if (err != nil) != (c.want == "") || c.want != "" && filepath.Base(got) != c.want {
			t.Errorf("%v: %s (%v)", c.files, got, err)
		}
	}
}

func TestIdentify(t *testing.T) {
	for text, want := range map[string]bool{net: true, "# a net\n\nlayer {\n": true, "input: \"x\"": true, "node { name: \"x\" }": false, "[net]\nbatch=1": false, "{\"nodes\"": false} {
		if Format.Identify([]byte(text), "") != want {
			t.Errorf("%.30q: %v", text, !want)
		}
	}
}

func FuzzNet(f *testing.F) {
	f.Add([]byte(net))
	w := weights(false, true)
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(data, w); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}

func FuzzBlobs(f *testing.F) {
	f.Add(weights(false, true))
	f.Add(weights(true, false))
	f.Fuzz(func(t *testing.T, data []byte) { blobsOf(data) })
}
