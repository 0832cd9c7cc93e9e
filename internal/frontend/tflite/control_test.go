package tflite

import (
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/tflitetest"
)

// steps is a graph of operators, each with one result; the last one's is the output. Operands are places: first the inputs, then constants, then results.
func steps(inputs, constants []tflitetest.Tensor, types []int8, operators ...tflitetest.Operator) tflitetest.Graph {
	g := tflitetest.Graph{Tensors: append(append([]tflitetest.Tensor{}, inputs...), constants...), Operators: operators}
	for i := range inputs {
		g.Inputs = append(g.Inputs, int32(i))
	}
	for i := range operators {
		g.Operators[i].Out = []int32{int32(len(g.Tensors))}
		g.Tensors = append(g.Tensors, tflitetest.Tensor{Type: types[i], Shape: []int32{1}})
	}
	g.Outputs = []int32{int32(len(g.Tensors) - 1)}
	return g
}

func number(name string) tflitetest.Tensor { return tflitetest.Tensor{Name: name, Shape: []int32{1}} }

func constant(f float32) tflitetest.Tensor {
	return tflitetest.Tensor{Shape: []int32{1}, Data: tensor.Of([]int{1}, []float32{f}).Bytes()}
}

func result(t *testing.T, file []byte, in ...*tensor.Tensor) float64 {
	t.Helper()
	m, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := evaltest.Actual(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Float(0)
}

// TestWhile doubles a number until it is not below a limit of 100.
func TestWhile(t *testing.T) {
	x := []tflitetest.Tensor{number("x")}
	main := steps(x, nil, []int8{0}, tflitetest.Operator{Code: int32(codeOf("WHILE")), In: []int32{0}, Options: tflitetest.Table{0: int32(1), 1: int32(2)}})
	condition := steps(x, []tflitetest.Tensor{constant(100)}, []int8{6}, tflitetest.Operator{Code: int32(codeOf("LESS")), In: []int32{0, 1}})
	body := steps(x, nil, []int8{0}, tflitetest.Operator{Code: int32(codeOf("ADD")), In: []int32{0, 0}})
	file := tflitetest.Model(main, condition, body)
	for in, want := range map[float32]float64{3: 192, 100: 100, 99: 198} {
		if got := result(t, file, tensor.Of([]int{1}, []float32{in})); got != want {
			t.Errorf("%v: %v instead of %v", in, got, want)
		}
	}
}

// TestIf takes one of two branches.
func TestIf(t *testing.T) {
	x := []tflitetest.Tensor{number("x")}
	main := steps([]tflitetest.Tensor{{Name: "c", Type: 6, Shape: []int32{1}}, number("x")}, nil, []int8{0},
		tflitetest.Operator{Code: int32(codeOf("IF")), In: []int32{0, 1}, Options: tflitetest.Table{0: int32(1), 1: int32(2)}})
	yes := steps(x, nil, []int8{0}, tflitetest.Operator{Code: int32(codeOf("NEG")), In: []int32{0}})
	no := steps(x, nil, []int8{0}, tflitetest.Operator{Code: int32(codeOf("SQUARE")), In: []int32{0}})
	file := tflitetest.Model(main, yes, no)
	for condition, want := range map[bool]float64{true: -3, false: 9} {
		if got := result(t, file, tensor.Of([]int{1}, []bool{condition}), tensor.Of([]int{1}, []float32{3})); got != want {
			t.Errorf("%v: %v instead of %v", condition, got, want)
		}
	}
}

// TestRecursion: graphs that call themselves are refused.
func TestRecursion(t *testing.T) {
	x := []tflitetest.Tensor{number("x")}
	main := steps(x, nil, []int8{0}, tflitetest.Operator{Code: int32(codeOf("WHILE")), In: []int32{0}, Options: tflitetest.Table{0: int32(1), 1: int32(0)}})
	if _, err := Read(tflitetest.Model(main, main)); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("error %v", err)
	}
}

// TestUnsupported lists all operators at once.
func TestUnsupported(t *testing.T) {
	g := steps([]tflitetest.Tensor{number("x")}, nil, []int8{0, 0}, tflitetest.Operator{Code: int32(codeOf("HASHTABLE_FIND")), In: []int32{0}}, tflitetest.Operator{Custom: "Mine", In: []int32{1}})
	m, err := Read(tflitetest.Model(g))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := frontend.Import(m, frontend.Options{}); err == nil || !strings.Contains(err.Error(), `2 unsupported operators: HASHTABLE_FIND (1 node`) || !strings.Contains(err.Error(), "custom.Mine") {
		t.Errorf("error %v", err)
	}
}
