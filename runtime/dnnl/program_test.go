package dnnl

import (
	"strings"
	"testing"
)

// chain is x → relu → softmax.
func chain() *Program {
	return &Program{
		Tensors: []Tensor{{Shape: []int64{2, 3}}, {Shape: []int64{2, 3}}, {Shape: []int64{2, 3}}, {Shape: []int64{3}, Const: true}},
		Steps:   []Step{{Kind: "eltwise", Operands: []int{0}, Result: 1, Function: "relu"}, {Kind: "softmax", Operands: []int{1}, Result: 2, Axis: 1}},
		Inputs:  []int{0}, Outputs: []int{2},
	}
}

func marshal(t testing.TB, p *Program) []byte {
	t.Helper()
	b, err := p.Marshal(make([]byte, 12))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestParse: programs come back; those that would read or write what is not theirs are refused.
func TestParse(t *testing.T) {
	p, err := Parse(marshal(t, chain()))
	if err != nil || len(p.Steps) != 2 || p.Steps[1].Axis != 1 || len(p.data) != 12 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, c := range []struct {
		change func(p *Program)
		want   string
	}{
		{func(p *Program) { p.Tensors[3].Offset = 64 }, "constant 3 ends beyond the file"},
		{func(p *Program) { p.Tensors[3].Offset = -64 }, "constant 3"},
		{func(p *Program) { p.Tensors[0].Shape = []int64{1 << 40, 1 << 40} }, "tensor 0 has shape"},
		{func(p *Program) { p.Tensors[0].Shape = []int64{0} }, "tensor 0 has shape"},
		{func(p *Program) { p.Tensors[0].Shape = make([]int64, 13) }, "tensor 0 has 13 axes"},
		{func(p *Program) { p.Inputs[0] = 3 }, "input 3"},
		{func(p *Program) { p.Inputs[0] = -1 }, "input -1"},
		{func(p *Program) { p.Outputs[0] = 3 }, "output 3"},
		{func(p *Program) { p.Outputs[0] = 0 }, "output 0"},
		{func(p *Program) { p.Outputs = []int{2, 2} }, "output 2"},
		{func(p *Program) { p.Steps[0].Operands[0] = 2 }, "step 0 (eltwise): operand 2 is not computed"},
		{func(p *Program) { p.Steps[0].Operands = nil }, "0 operands instead of 1"},
		{func(p *Program) { p.Steps[0].Result = 0 }, "result 0"},
		{func(p *Program) { p.Steps[0].Result = 9 }, "result 9"},
		{func(p *Program) { p.Steps[0].Function = "sum" }, `no function "sum"`},
		{func(p *Program) { p.Steps[0].Kind = "magic" }, "there is no such kind"},
		{func(p *Program) { p.Steps[1].Axis = 2 }, "axis 2"},
		{func(p *Program) { p.Steps[1].Post = []Post{{Function: "x"}} }, `no function "x"`},
		{func(p *Program) { p.Steps[1].Kind = "max_pool" }, "a window"},
		{func(p *Program) { p.Steps[1].Kind, p.Tensors[2].Shape = "reshape", []int64{5} }, "shape [2 3] becomes [5]"},
	} {
		p := chain()
		c.change(p)
		if _, err := Parse(marshal(t, p)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v instead of %s", err, c.want)
		}
	}
	b := marshal(t, chain())
	for _, n := range []int{0, 5, 16, 24, len(b) / 2, len(b) - 1} {
		if _, err := Parse(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are a program", n, len(b))
		}
	}
}

// FuzzParse: no bytes are more than an error.
func FuzzParse(f *testing.F) {
	f.Add(marshal(f, chain()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := Parse(b); err == nil {
			if _, err := p.Marshal(p.data); err != nil {
				t.Error(err)
			}
		}
	})
}
