package onnx

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/dim"
	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// declared is a float32 value whose dimensions are numbers or texts.
func declared(name string, dims ...any) ValueInfo {
	v := ValueInfo{Name: name, Type: Type{Kind: KindTensor, Elem: Float, Ranked: true}}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			v.Dims = append(v.Dims, Dim{Value: int64(d)})
		case string:
			v.Dims = append(v.Dims, Dim{Value: -1, Param: d})
		}
	}
	return v
}

// TestSymbols pins which shapes inputs get, and what is said about them.
func TestSymbols(t *testing.T) {
	type shapes = map[string][]int
	type sizes = map[string]int
	decoder := []ValueInfo{declared("ids", "batch", "seq"), declared("mask", "batch", "past + seq"), declared("past", "batch", 8, "past", 64)}
	for _, c := range []struct {
		inputs []ValueInfo
		o      Options
		want   string // shapes, or an error
		note   string
	}{
		{decoder, Options{}, "[1,1] [1,2] [1,8,1,64]", "batch, seq, past are not given"},
		{decoder, Options{Shapes: shapes{"ids": {2, 12}}}, "[2,12] [2,13] [2,8,1,64]", "past is not given and taken as 1 (set with --input-shapes 'batch=2 seq=12 past=1')"},
		{decoder, Options{Shapes: shapes{"ids": {2, 1}, "mask": {2, 13}}}, "[2,1] [2,13] [2,8,12,64]", ""},
		{decoder, Options{Shapes: shapes{"past": {1, 8, 0, 64}}, Sizes: sizes{"seq": 5}}, "[1,5] [1,5] [1,8,0,64]", ""},
		{decoder, Options{Sizes: sizes{"batch": 3, "past + seq": 13, "seq": 1}}, "[3,1] [3,13] [3,8,12,64]", ""},
		{decoder, Options{Shapes: shapes{"mask": {1, 13}}}, "[1,12] [1,13] [1,8,1,64]", "past is not given"},
		{decoder, Options{Shapes: shapes{"ids": {2, 12}, "mask": {3, 13}}}, `batch is 2 by input "ids" [2,12] and 3 by input "mask" [3,13]`, ""},
		{decoder, Options{Shapes: shapes{"ids": {2, 12}, "mask": {2, 5}}}, `past+seq is 5 by input "mask" [2,5], which no size of past gives`, ""},
		{decoder, Options{Shapes: shapes{"ids": {2, 12}}, Sizes: sizes{"batch": 3}}, `batch is 2 by input "ids" [2,12] and 3 by the given batch=3`, ""},
		{decoder, Options{Sizes: sizes{"bach": 3}}, `no input has a size "bach"; did you mean batch?; the inputs' are "batch", "past", "seq"`, ""},
		{[]ValueInfo{declared("x", "2*n", "floor(seq/2)"), declared("y", "n", "seq")}, Options{Shapes: shapes{"x": {6, 6}}}, "floor(seq/2) is 6 by input \"x\" [6,6], from which seq does not follow: give it too, as in --input-shapes 'seq=12'", ""},
		{[]ValueInfo{declared("x", "2*n", "floor(seq/2)"), declared("y", "n", "seq")}, Options{Shapes: shapes{"x": {6, 6}}, Sizes: sizes{"seq": 13}}, "[6,6] [3,13]", ""},
		{[]ValueInfo{declared("x", "n - 2")}, Options{}, `input "x": n-2 is -1, below 0`, ""},
		{[]ValueInfo{declared("x", "?", "?", ""), declared("y", "sequence length", "3")}, Options{Shapes: shapes{"y": {4, 3}}}, "[1,1,1] [4,3]", "x[0], x[1], x[2] are not given and taken as 1 (set with --input-shapes 'x:[1,1,1] y:[4,3]')"},
		{[]ValueInfo{declared("x", "a*b", "b")}, Options{Shapes: shapes{"x": {12, 3}}}, "[12,3]", ""},
		{[]ValueInfo{declared("x", "batch", 3)}, Options{Shapes: shapes{"x": {2, 5}}}, "[2,5]", ""}, // a number may be overruled, as in tvmc
		{[]ValueInfo{declared("x", "a"), declared("y", "b")}, Options{Values: map[string]*tensor.Tensor{"y": tensor.Of([]int{3}, []float32{1, 2, 3})}, Sizes: sizes{"a": 2}}, "[2] [3]", ""},
	} {
		m := testModel(c.inputs, results("out"), testNode("Shape "+c.inputs[0].Name+" -> out"))
		s, err := frontend.ShapesOf(neutral(m.Graph), c.o)
		got, note := "", ""
		if err != nil {
			got = err.Error()
		} else {
			for _, in := range c.inputs {
				got += " " + frontend.ShapeText(s.Of(in.Name))
			}
			got, note = got[1:], s.Note()
		}
		if !strings.HasPrefix(got, c.want) || !strings.HasPrefix(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%+v:\ngot  %s (%s)\nwant %s (%s)", c.o, got, note, c.want, c.note)
		}
	}
}

// Many inputs with many names take time in proportion.
func TestManySymbols(t *testing.T) {
	var inputs []ValueInfo
	given := Options{Shapes: map[string][]int{}}
	for i := range 20000 {
		inputs = append(inputs, declared(fmt.Sprint("x", i), fmt.Sprintf("n%d + 1", i), fmt.Sprint("n", i+1)))
	}
	given.Shapes["x0"] = []int{3, 2}
	s, err := frontend.ShapesOf(neutral(testModel(inputs, results("out"), testNode("Shape x0 -> out")).Graph), given)
	if err != nil || len(s.Symbols) != 20001 || len(s.Note()) > 1<<20 {
		t.Errorf("%v, %d symbols", err, len(s.Symbols))
	}
}

// A fixed input is a constant of the input's type: one number fills it.
func TestFix(t *testing.T) {
	x := append(floats([]int{2, -2}, "x"), ValueInfo{Name: "k", Type: Type{Kind: KindTensor, Elem: Int64, Ranked: true, Dims: []Dim{{Value: 2}}}})
	m := func() *Model { return testModel(x, results("y"), testNode("Reshape x k -> y")) }
	for _, c := range []struct {
		v    map[string]*tensor.Tensor
		want string
	}{
		{map[string]*tensor.Tensor{"k": tensor.Of([]int{2}, []int64{3, 2})}, "float32[3,2] of 1 inputs"},
		{map[string]*tensor.Tensor{"k": tensor.Of([]int{2}, []float64{3, 2})}, "float32[3,2] of 1 inputs"},
		{map[string]*tensor.Tensor{"k": tensor.Of([]int{2}, []int32{-1, 2}), "x": tensor.Scalar(0.5)}, "float32[3,2] of 0 inputs"},
		{map[string]*tensor.Tensor{"k": tensor.Of([]int{2}, []float64{3.5, 2})}, `input "k": the value it is fixed to: int64 cannot hold 3.5`},
		{map[string]*tensor.Tensor{"k": tensor.Of([]int{1, 2}, []int64{3, 2})}, `input "k": shape [1,2] has 2 dimensions`},
		{map[string]*tensor.Tensor{"q": tensor.Scalar(1.0)}, `the model has no input "q"`},
		{map[string]*tensor.Tensor{}, `shape ("k") depends on input data, which is not supported (--fix k=VALUE makes the input a constant)`},
	} {
		g, err := Import(m(), Options{Values: c.v, Sizes: map[string]int{"N": 3}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s of %d inputs", g.Outputs[0].Type, len(g.Inputs))
			if len(g.Inputs) == 0 {
				out, err := grapheval.Eval(g, nil)
				if err != nil {
					t.Fatal(err)
				}
				wantFloats(t, out[0], .5, .5, .5, .5, .5, .5)
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

// TestRandomSymbols declares inputs by random expressions and gives some of their shapes as random sizes make them: what
// is found agrees with all that is declared, and with the sizes where they are all given.
func TestRandomSymbols(t *testing.T) {
	texts := []string{"a", "b", "c", "a + 1", "a + b", "2*b", "a*b", "floor(c/2)", "c - a", "b - size", "(a - 1)//2 + 1", "Max(a, b)", "?", "4"}
	value := func(text string, a, b, c int) int {
		return map[string]int{
			"a": a, "b": b, "c": c, "a + 1": a + 1, "a + b": a + b, "2*b": 2 * b, "a*b": a * b, "floor(c/2)": c / 2, "c - a": c - a,
			"b - size": b, "(a - 1)//2 + 1": (a-1)>>1 + 1, "Max(a, b)": max(a, b), "?": 3, "4": 4,
		}[text]
	}
	r := rand.New(rand.NewPCG(5, 6))
	settled, refused := 0, 0
	for range 3000 {
		a, b := r.IntN(6), r.IntN(6)
		c := a + r.IntN(6)
		o := Options{Shapes: map[string][]int{}, Sizes: map[string]int{}}
		var inputs []ValueInfo
		truth := map[string][]int{}
		for i := range 1 + r.IntN(4) {
			in := declared(fmt.Sprint("x", i))
			var shape []int
			for range r.IntN(4) {
				text := texts[r.IntN(len(texts))]
				in.Dims = append(in.Dims, Dim{Value: -1, Param: text})
				shape = append(shape, value(text, a, b, c))
			}
			inputs = append(inputs, in)
			truth[in.Name] = shape
			if r.IntN(2) == 0 {
				o.Shapes[in.Name] = shape
			}
		}
		all := r.IntN(2) == 0
		m := testModel(inputs, results("out"), testNode("Shape x0 -> out"))
		if all {
			known, err := frontend.ShapesOf(neutral(m.Graph), Options{})
			if err != nil {
				continue // sizes of 1 do not fit
			}
			for _, x := range known.Symbols {
				o.Sizes[x.Name] = map[string]int{"a": a, "b": b, "c": c}[x.Name]
			}
		}
		s, err := frontend.ShapesOf(neutral(m.Graph), o)
		if err != nil {
			if refused++; all && o.Sizes["size"] == 0 {
				t.Fatalf("%+v: %v", o, err)
			}
			continue
		}
		settled++
		sizes := map[string]int{}
		for _, x := range s.Symbols {
			sizes[x.Name] = x.Size
		}
		for _, in := range inputs {
			for i, d := range in.Dims {
				got := s.Of(in.Name)[i]
				if e := dim.Read([]string{d.Param})[d.Param]; e != nil {
					if n, err := e.Eval(sizes); err != nil || n != got {
						t.Fatalf("%+v: %s of %s is %d with %v, and taken as %d: %v", o, d.Param, in.Name, n, sizes, got, err)
					}
				}
				if want := truth[in.Name][i]; all && d.Param != "?" && got != want {
					t.Fatalf("%+v: %s of %s is %d instead of %d", o, d.Param, in.Name, got, want)
				}
			}
		}
	}
	if settled < 1000 || refused < 10 {
		t.Errorf("%d settled, %d refused", settled, refused)
	}
}
