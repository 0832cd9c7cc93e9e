package tflite

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/tflitetest"
	"lathe/internal/types"
)

// rowsFile has one small use of each builtin operator in a line:
//
//	OPERATOR operands... options... -> types of results [= values of the first result]
//
// An operand is a type such as f32[2,3], an input with elements 1, 2, 3 ... times 1/4 (integers without the quarter, bools alternating), a constant such as
// i32[2]{1,2}, or _ where it is absent; a variable has a * behind it. An option is name=value.
const rowsFile = "testdata/rows.txt"

var shortTypes = map[string]int8{"f32": 0, "f16": 1, "i32": 2, "u8": 3, "i64": 4, "b": 6, "i16": 7, "c64": 8, "i8": 9}

// TestRows imports and evaluates each line, and checks that every row of the table that needs no sub-graph has one.
func TestRows(t *testing.T) {
	text, err := os.ReadFile(rowsFile)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, err := rowCase(line)
		if used[name] = true; err != nil {
			t.Errorf("%s:%d: %s: %v", rowsFile, i+1, line, err)
		}
	}
	for _, r := range Table.Rows() {
		if !used[r.Op] && r.Domain == "" && !slices.Contains([]string{"IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}, r.Op) {
			t.Errorf("%s has no line in %s", r.Op, rowsFile)
		}
	}
}

// rowCase checks a line.
func rowCase(line string) (name string, err error) {
	left, right, _ := strings.Cut(line, " -> ")
	fields := strings.Fields(left)
	name = fields[0]
	g := tflitetest.Graph{}
	o := tflitetest.Operator{Code: int32(codeOf(name)), Options: tflitetest.Table{}}
	for _, f := range fields[1:] {
		switch key, value, option := strings.Cut(f, "="); {
		case f == "_":
			o.In = append(o.In, -1)
		case option:
			if err := setOption(o.Options, schema[name][key], value); err != nil {
				return name, fmt.Errorf("%s: %w", f, err)
			}
		default:
			x, constant := parseTensor(fmt.Sprintf("x%d", len(o.In)), f)
			o.In = append(o.In, int32(len(g.Tensors)))
			if !constant {
				g.Inputs = append(g.Inputs, int32(len(g.Tensors)))
			}
			g.Tensors = append(g.Tensors, x)
		}
	}
	results, wanted, _ := strings.Cut(right, " = ")
	for i, f := range strings.Fields(results) {
		y, _ := parseTensor(fmt.Sprintf("y%d", i), f)
		o.Out, g.Outputs = append(o.Out, int32(len(g.Tensors))), append(g.Outputs, int32(len(g.Tensors)))
		g.Tensors = append(g.Tensors, y)
	}
	g.Operators = []tflitetest.Operator{o}
	m, err := Read(tflitetest.Model(g))
	if err != nil {
		return name, err
	}
	imported, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		return name, err
	}
	var in []*tensor.Tensor
	for _, v := range imported.Inputs {
		x := tensor.NewOf(v.Type)
		for i := range x.Len() {
			switch {
			case x.DType == types.Bool:
				x.SetInt(i, int64(1-i%2))
			case x.DType.IsFloat():
				x.SetFloat(i, float64(i+1)/4)
			default:
				x.SetInt(i, int64(i+1))
			}
		}
		in = append(in, x)
	}
	out, err := grapheval.Eval(imported, in)
	if err != nil {
		return name, err
	}
	for i, f := range strings.Fields(results) {
		want, _ := parseTensor("", f)
		d, _ := elemType(want.Type).dtype()
		shape := []int{}
		for _, n := range want.Shape {
			shape = append(shape, int(n))
		}
		if got := out[i].Type(); got.DType != d || !slices.Equal(got.Shape, shape) {
			return name, fmt.Errorf("result %d is %s", i, got)
		}
	}
	if wanted == "" {
		return name, nil
	}
	list := strings.Split(strings.TrimSpace(wanted), ",")
	if len(list) != out[0].Len() {
		return name, fmt.Errorf("%d values of %d", len(list), out[0].Len())
	}
	for i, f := range list {
		w, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return name, err
		}
		if got := out[0].Float(i); math.Abs(got-w) > 1e-4*max(1, math.Abs(w)) {
			return name, fmt.Errorf("element %d is %v instead of %v", i, got, w)
		}
	}
	return name, nil
}

// parseTensor reads f32[2,3], i32[2]{1,2} or f32[2]*, with @scale:zero before the braces where it is quantised.
func parseTensor(name, text string) (x tflitetest.Tensor, constant bool) {
	short, rest, _ := strings.Cut(text, "[")
	dims, rest, _ := strings.Cut(rest, "]")
	x = tflitetest.Tensor{Name: name, Type: shortTypes[short], Shape: []int32{}}
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' }) {
		n, _ := strconv.Atoi(d)
		x.Shape = append(x.Shape, int32(n))
	}
	quant, values, constant := strings.Cut(rest, "{")
	if strings.HasSuffix(quant, "*") {
		x.Variable, constant = true, true
	}
	if s, z, ok := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(quant, "*"), "@"), ":"); ok {
		scale, _ := strconv.ParseFloat(s, 32)
		zero, _ := strconv.Atoi(z)
		x.Scale, x.Zero = []float32{float32(scale)}, []int64{int64(zero)}
	}
	if !constant || x.Variable {
		return x, constant
	}
	d, _ := elemType(x.Type).dtype()
	list := strings.Split(strings.TrimSuffix(values, "}"), ",")
	t := tensor.New(d, len(list))
	for i, v := range list {
		f, _ := strconv.ParseFloat(v, 64)
		t.SetFloat(i, f)
	}
	x.Data = t.Bytes()
	return x, true
}

// setOption puts an option in its slot.
func setOption(t tflitetest.Table, o option, value string) error {
	list := strings.Split(value, ",")
	switch o.kind {
	case "i8":
		n, err := strconv.Atoi(value)
		t[o.slot] = int8(n)
		return err
	case "bool":
		t[o.slot] = value == "true"
	case "i32":
		n, err := strconv.Atoi(value)
		t[o.slot] = int32(n)
		return err
	case "f32":
		f, err := strconv.ParseFloat(value, 32)
		t[o.slot] = float32(f)
		return err
	case "ints":
		var v []int32
		for _, s := range list {
			n, err := strconv.Atoi(s)
			if err != nil {
				return err
			}
			v = append(v, int32(n))
		}
		t[o.slot] = v
	case "floats":
		var v []float32
		for _, s := range list {
			f, err := strconv.ParseFloat(s, 32)
			if err != nil {
				return err
			}
			v = append(v, float32(f))
		}
		t[o.slot] = v
	default:
		return fmt.Errorf("no option of that name")
	}
	return nil
}
