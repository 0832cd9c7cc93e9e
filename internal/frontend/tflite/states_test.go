package tflite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/testkit/tflitetest"
)

func number1(f float32) *tensor.Tensor { return tensor.Of([]int{1, 1}, []float32{f}) }

// TestStateTensors: an RNN with h = x + h keeps h from run to run where the user hands it on, and not where it is reset.
func TestStateTensors(t *testing.T) {
	one, none := tensor.Of([]int{1, 1}, []float32{1}).Bytes(), tensor.Of([]int{1}, []float32{0}).Bytes()
	x := tflitetest.Tensor{Name: "x", Shape: []int32{1, 1}}
	weight := func(name string) tflitetest.Tensor {
		return tflitetest.Tensor{Name: name, Shape: []int32{1, 1}, Data: one}
	}
	g := tflitetest.Graph{Inputs: []int32{0}, Outputs: []int32{5},
		Tensors:   []tflitetest.Tensor{x, weight("w"), weight("r"), {Name: "b", Shape: []int32{1}, Data: none}, {Name: "h", Shape: []int32{1, 1}, Variable: true}, {Name: "y", Shape: []int32{1, 1}}, {Name: "z", Shape: []int32{1, 1}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("RNN")), In: []int32{0, 1, 2, 3, 4}, Out: []int32{5}}}}
	once := tflitetest.Model(g)
	// A second operator on the same variable sees what the first one left.
	g.Operators = append(g.Operators, tflitetest.Operator{Code: int32(codeOf("RNN")), In: []int32{5, 1, 2, 3, 4}, Out: []int32{6}})
	g.Outputs = []int32{6}
	twice := tflitetest.Model(g)
	for _, c := range []struct {
		file    []byte
		options map[string]string
		in      []*tensor.Tensor
		want    []float64
	}{
		{once, nil, []*tensor.Tensor{number1(3)}, []float64{3}},
		{once, map[string]string{frontend.StateOption.Name: "io"}, []*tensor.Tensor{number1(3), number1(4)}, []float64{7, 7}},
		{twice, nil, []*tensor.Tensor{number1(3)}, []float64{6}},
		{twice, map[string]string{frontend.StateOption.Name: "io"}, []*tensor.Tensor{number1(3), number1(4)}, []float64{14, 14}},
	} {
		var got []float64
		for _, y := range outputs(t, c.file, c.options, c.in...) {
			got = append(got, y.Float(0))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v instead of %v", c.options, got, c.want)
		}
	}
	m, err := Read(once)
	if err != nil {
		t.Fatal(err)
	}
	m.Set(frontend.StateOption.Name, "io")
	if in, out := m.Graph.Inputs[1].Name, m.Graph.Outputs[1].Name; in != "h" || out != "h:next" {
		t.Errorf("the state is %q and %q", in, out)
	}
}

// counter adds its input to a resource that starts at what a graph that runs once says: y = x + variable, which is assigned to it.
func counter(first bool) []byte {
	handle := tflitetest.Tensor{Name: "handle", Type: 13, Shape: []int32{}}
	open := func(at int32) tflitetest.Operator {
		return tflitetest.Operator{Code: int32(codeOf("VAR_HANDLE")), Out: []int32{at}, Options: tflitetest.Table{0: "", 1: "count"}}
	}
	g := tflitetest.Graph{Inputs: []int32{0}, Outputs: []int32{3}, Tensors: []tflitetest.Tensor{{Name: "x", Shape: []int32{1, 1}}, handle, {Name: "old", Shape: []int32{1, 1}}, {Name: "new", Shape: []int32{1, 1}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("CALL_ONCE")), Options: tflitetest.Table{0: int32(1)}}, open(1), {Code: int32(codeOf("READ_VARIABLE")), In: []int32{1}, Out: []int32{2}},
			{Code: int32(codeOf("ADD")), In: []int32{0, 2}, Out: []int32{3}}, {Code: int32(codeOf("ASSIGN_VARIABLE")), In: []int32{1, 3}}}}
	if !first {
		g.Operators = g.Operators[1:]
	}
	init := tflitetest.Graph{Tensors: []tflitetest.Tensor{handle, {Name: "x", Shape: []int32{1, 1}, Data: number1(10).Bytes()}, {Name: "y", Shape: []int32{1, 1}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("NEG")), In: []int32{1}, Out: []int32{2}}, open(0), {Code: int32(codeOf("ASSIGN_VARIABLE")), In: []int32{0, 2}}}}
	return tflitetest.Model(g, init)
}

func TestResources(t *testing.T) {
	for _, c := range []struct {
		first   bool
		options map[string]string
		in      []*tensor.Tensor
		want    []float64
	}{
		{true, nil, []*tensor.Tensor{number1(3)}, []float64{-7}},
		{false, nil, []*tensor.Tensor{number1(3)}, []float64{3}},
		{true, map[string]string{frontend.StateOption.Name: "io"}, []*tensor.Tensor{number1(3), number1(4)}, []float64{7, 7}},
		{false, map[string]string{frontend.StateOption.Name: "io"}, []*tensor.Tensor{number1(3), number1(4)}, []float64{7, 7}},
	} {
		var got []float64
		for _, y := range outputs(t, counter(c.first), c.options, c.in...) {
			got = append(got, y.Float(0))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%t, %v: %v instead of %v", c.first, c.options, got, c.want)
		}
	}
}

// TestResourcesInBodies: a variable that a body of control flow reads is refused in words.
func TestResourcesInBodies(t *testing.T) {
	handle := tflitetest.Tensor{Name: "handle", Type: 13, Shape: []int32{}}
	body := tflitetest.Graph{Tensors: []tflitetest.Tensor{handle, {Name: "v", Shape: []int32{1, 1}}}, Outputs: []int32{1},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("VAR_HANDLE")), Out: []int32{0}, Options: tflitetest.Table{1: "count"}}, {Code: int32(codeOf("READ_VARIABLE")), In: []int32{0}, Out: []int32{1}}}}
	main := tflitetest.Graph{Inputs: []int32{0}, Outputs: []int32{1}, Tensors: []tflitetest.Tensor{{Name: "c", Type: 6, Shape: []int32{}}, {Name: "y", Shape: []int32{1, 1}}},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("IF")), In: []int32{0}, Out: []int32{1}, Options: tflitetest.Table{0: int32(1), 1: int32(1)}}}}
	m, err := Read(tflitetest.Model(main, body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = frontend.Import(m, frontend.Options{}); err == nil || !strings.Contains(err.Error(), "a variable in the body of control flow") {
		t.Error(err)
	}
}
