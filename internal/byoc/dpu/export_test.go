package dpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/export/xir"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// quantised draws a region, its inputs, and its network in integers.
func quantised(t *testing.T, seed uint64) (g *graph.Graph, inputs []*tensor.Tensor, f *Fixed) {
	arch, err := Lookup("DPUCZDX8G-zcu104")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 77))
	g = region(t, r, arch)
	n, err := Read(arch, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Inputs {
		x := tensor.NewOf(v.Type)
		for i := range x.Len() {
			x.SetFloat(i, 2*r.NormFloat64())
		}
		inputs = append(inputs, x)
	}
	if f, err = n.Fix(observed(t, rand.New(rand.NewPCG(0, 0)), n, g, inputs)); err != nil {
		t.Fatal(err)
	}
	return g, inputs, f
}

// TestQDQ: pairs of quantize and dequantize compute nearly what the DPU does; ties and averages are rounded otherwise.
func TestQDQ(t *testing.T) {
	var distances []float64
	for seed := range uint64(40) {
		g, inputs, f := quantised(t, seed)
		q, err := f.QDQ("region")
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if err := graph.Verify(q); err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		got, err := grapheval.Eval(q, inputs)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		var flat [][]float32
		for _, x := range inputs {
			flat = append(flat, floats(x))
		}
		want, err := f.Run(flat)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		var off, all float64
		for i := range want {
			if !got[i].Type().Equal(g.Outputs[i].Type) {
				t.Errorf("%d: output %d is %s instead of %s", seed, i, got[i].Type(), g.Outputs[i].Type)
			}
			for j, w := range want[i] {
				d := got[i].Float(j) - float64(w)
				off, all = off+d*d, all+float64(w)*float64(w)
			}
		}
		distances = append(distances, math.Sqrt(off/math.Max(all, 1e-30)))
	}
	slices.Sort(distances)
	if middle := distances[len(distances)/2]; middle > 0.02 {
		t.Errorf("half of the networks are further than %g from the DPU", middle)
	}
}

// TestXModel: operations come after what they read, have names of their own, and constants the bytes of their shapes; a fix follows every
// map and constant.
func TestXModel(t *testing.T) {
	for seed := range uint64(40) {
		_, _, f := quantised(t, seed)
		x := f.XModel("region")
		kinds, shapes := map[string]string{}, map[string][]int{}
		for _, o := range x.Ops {
			if kinds[o.Name] != "" {
				t.Errorf("%d: two operations %q", seed, o.Name)
			}
			kinds[o.Name], shapes[o.Name] = o.Type, o.Tensor.Shape
			for _, a := range o.Args {
				for _, from := range a.Ops {
					switch {
					case kinds[from] == "":
						t.Errorf("%d: %q reads %q, which is not there", seed, o.Name, from)
					case o.Type == "fix" && kinds[from] == "fix", o.Type != "fix" && kinds[from] != "fix" && o.Type[:4] != "relu" && o.Type != "leaky-relu":
						t.Errorf("%d: %s %q reads %s %q", seed, o.Type, o.Name, kinds[from], from)
					}
				}
			}
			if o.Type == "const" {
				n := 4
				for _, d := range o.Tensor.Shape {
					n *= d
				}
				if len(o.Attrs["data"].([]byte)) != n {
					t.Errorf("%d: %q has %d bytes for shape %v", seed, o.Name, len(o.Attrs["data"].([]byte)), o.Tensor.Shape)
				}
			}
		}
		if a, b := x.Encode(), f.XModel("region").Encode(); !slices.Equal(a, b) {
			t.Errorf("%d: two encodings differ", seed)
		}
	}
}

// TestXModelConvolution pins orders: width before height, padding left, right, top, bottom, weights [O, kh, kw, I].
func TestXModelConvolution(t *testing.T) {
	arch, err := Lookup("DPUCZDX8G-zcu104")
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{Arch: arch, Tensors: []Tensor{{"x", [4]int{1, 2, 5, 7}, nil}, {"y", [4]int{1, 1, 2, 6}, nil}}, Inputs: []int{0}, Layers: []Layer{{Kind: Conv, Name: "c", From: []int{0}, To: 1,
		Kernel: [2]int{2, 3}, Stride: [2]int{4, 1}, Dilation: [2]int{1, 1}, Pad: [4]int{1, 0, 0, 1}, InChannels: 2, OutChannels: 1, Weights: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}}
	f, err := n.Fix([]int{3, 3})
	if err != nil {
		t.Fatal(err)
	}
	var conv, weights xir.Op
	for _, o := range f.XModel("g").Ops {
		switch o.Type {
		case "conv2d":
			conv = o
		case "const":
			weights = o
		}
	}
	for name, want := range map[string][]int32{"kernel": {3, 2}, "stride": {1, 4}, "pad": {0, 1, 1, 0}, "dilation": {1, 1}} {
		if !slices.Equal(conv.Attrs[name].([]int32), want) {
			t.Errorf("%s is %v instead of %v", name, conv.Attrs[name], want)
		}
	}
	data := *tensor.Over(types.F32, []int{12}, weights.Attrs["data"].([]byte))
	if got, want := floats(&data), []float32{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}; !slices.Equal(got, want) {
		t.Errorf("weights are %v instead of %v", got, want)
	}
	if !slices.Equal(weights.Tensor.Shape, []int{1, 2, 3, 2}) || !slices.Equal(conv.Tensor.Shape, []int{1, 2, 6, 1}) {
		t.Errorf("shapes are %v and %v", weights.Tensor.Shape, conv.Tensor.Shape)
	}
}
