package dpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
)

// TestEqualize: random regions compute the same with their channels scaled, and are the same network in floats as the region.
func TestEqualize(t *testing.T) {
	arch, err := Lookup("DPUCZDX8G-zcu104")
	if err != nil {
		t.Fatal(err)
	}
	scaled := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := region(t, r, arch)
		n, err := Read(arch, g)
		if err != nil {
			t.Fatal(err)
		}
		var inputs []*tensor.Tensor
		for _, v := range g.Inputs {
			x := tensor.NewOf(v.Type)
			for i := range x.Len() {
				x.SetFloat(i, 2*r.NormFloat64())
			}
			inputs = append(inputs, x)
		}
		want, err := grapheval.Eval(g, inputs)
		if err != nil {
			t.Fatal(err)
		}
		before := append([]float32{}, weightsOf(n)...)
		for _, equal := range []bool{false, true} {
			if equal {
				n.equalize()
			}
			f, _, err := n.Float("region")
			if err != nil {
				t.Fatalf("%d: %v", seed, err)
			}
			if err := evaltest.SameValues(f, inputs, want); err != nil {
				t.Errorf("%d: equalised %v: %v", seed, equal, err)
			}
		}
		for i, w := range weightsOf(n) {
			if w != before[i] {
				scaled++
				break
			}
		}
	}
	if scaled < 10 {
		t.Errorf("%d of 150 networks were scaled", scaled)
	}
}

func weightsOf(n *Network) (list []float32) {
	for i := range n.Layers {
		list = append(list, n.Layers[i].Weights...)
	}
	return list
}

// TestEqualizeRanges: between two convolutions with relu, channels of very different sizes get one range on both sides.
func TestEqualizeRanges(t *testing.T) {
	n := &Network{Tensors: []Tensor{{"x", [4]int{1, 1, 1, 1}, nil}, {"y", [4]int{1, 2, 1, 1}, nil}, {"z", [4]int{1, 1, 1, 1}, nil}}, Inputs: []int{0}, Outputs: []Output{{Tensor: 2}},
		Layers: []Layer{
			{Kind: Conv, From: []int{0}, To: 1, Kernel: [2]int{1, 1}, InChannels: 1, OutChannels: 2, Weights: []float32{100, 0.01}, Bias: []float32{1, 2}, Act: Relu},
			{Kind: Conv, From: []int{1}, To: 2, Kernel: [2]int{1, 1}, InChannels: 2, OutChannels: 1, Weights: []float32{0.04, -4}},
		}}
	n.equalize()
	for k, want := range []float64{2, 0.2} { // the geometric means of 100 and 0.04, and of 0.01 and 4
		made, read := float64(n.Layers[0].Weights[k]), math.Abs(float64(n.Layers[1].Weights[k]))
		if math.Abs(made-want) > 1e-3*want || math.Abs(read-want) > 1e-3*want {
			t.Errorf("channel %d: %g and %g instead of %g", k, made, read, want)
		}
	}
	if b := n.Layers[0].Bias; math.Abs(float64(b[0])-0.02) > 1e-4 || math.Abs(float64(b[1])-40) > 0.1 {
		t.Errorf("biases %v", b)
	}
}
