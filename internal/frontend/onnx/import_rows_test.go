package onnx

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
	"lathe/internal/types"
)

// rowsFile has one small use of each row of the table in a line:
//
//	Op@version operands... attributes... -> types of results [= values of the first result]
//
// An operand is a type such as f32[2,3], which becomes an input with elements 1, 2, 3 ... times 1/4 (integers without the
// quarter, bools alternating), a constant such as i64{1,2} or i64:3 (rank 0), or _ where it is absent. An attribute is
// name=value: 1 is an int, 1.5 a float, "text" a string, [1,2] and [1.,2.] lists.
const rowsFile = "testdata/rows.txt"

type rowCase struct {
	line   string
	op     string
	domain string
	model  *Model
	values map[string]*tensor.Tensor // of the inputs
	types  []string
	want   []float64
}

// TestRows imports and evaluates each line, and checks that every row of the table has one.
func TestRows(t *testing.T) {
	text, err := os.ReadFile(rowsFile)
	if err != nil {
		t.Fatal(err)
	}
	used := map[*frontend.Row]bool{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		c := parseRow(t, line)
		used[table.Find(neutral(c.model.Graph).Nodes[0])] = true
		if err := c.check(); err != nil {
			t.Errorf("%s:%d: %s: %v", rowsFile, i+1, line, err)
		}
	}
	for _, s := range Rows() {
		for _, version := range s.Since {
			if !used[table.Find(&frontend.Node{Op: s.Op, Domain: s.Domain, Version: version})] && !hasSubgraph[s.Op] {
				t.Errorf("%s %s since %d has no line in %s", s.Domain, s.Op, version, rowsFile)
			}
		}
	}
}

// hasSubgraph lists operators with graphs and sequences, which have tests of their own.
var hasSubgraph = map[string]bool{"If": true, "Loop": true, "Scan": true, "SequenceMap": true, "SequenceEmpty": true,
	"SequenceConstruct": true, "SequenceAt": true, "SequenceLength": true, "SequenceInsert": true, "SequenceErase": true,
	"SplitToSequence": true, "ConcatFromSequence": true, "Optional": true, "OptionalHasElement": true, "OptionalGetElement": true}

func (c rowCase) check() error {
	g, err := Import(c.model, Options{})
	if err != nil {
		return err
	}
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, c.values[v.Name])
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		return err
	}
	for i, want := range c.types {
		if got := shortType(out[i].Type()); got != want {
			return fmt.Errorf("result %d is %s instead of %s", i, got, want)
		}
	}
	if c.want == nil {
		return nil
	}
	if out[0].Len() != len(c.want) {
		return fmt.Errorf("%d values instead of %d", out[0].Len(), len(c.want))
	}
	for i, w := range c.want {
		if got := out[0].Float(i); !closeTo(got, w, 1e-4, 1e-6) {
			return fmt.Errorf("element %d is %v instead of %v", i, got, w)
		}
	}
	return nil
}

// shortNames are the element types as the file spells them.
var shortNames = map[string]struct {
	onnx DType
	d    types.DType
}{
	"f32": {Float, types.F32}, "f64": {Double, types.F64}, "f16": {Float16, types.F16}, "i8": {Int8, types.I8}, "u8": {Uint8, types.U8},
	"i32": {Int32, types.I32}, "i64": {Int64, types.I64}, "b": {Bool, types.Bool}, "u32": {Uint32, types.U32},
	"i4": {Int4, types.I4}, "u4": {Uint4, types.U4},
}

func shortType(t types.Tensor) string {
	for name, d := range shortNames {
		if d.d == t.DType {
			return name + strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ",")
		}
	}
	return t.String()
}

func parseRow(t *testing.T, line string) rowCase {
	left, right, ok := strings.Cut(line, " -> ")
	if !ok {
		t.Fatalf("%s: no ->", line)
	}
	fields := strings.Fields(left)
	name, version, _ := strings.Cut(fields[0], "@")
	v, err := strconv.Atoi(version)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	c := rowCase{line: line, op: name, values: map[string]*tensor.Tensor{}}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		c.domain, c.op = name[:i], name[i+1:]
	}
	n := &Node{Name: "node", OpType: c.op, Domain: c.domain, Version: v}
	g := &Graph{Name: "test", Nodes: []*Node{n}}
	for i, f := range fields[1:] {
		if key, value, ok := strings.Cut(f, "="); ok {
			n.Attrs = append(n.Attrs, parseAttr(t, key, value))
			continue
		}
		operand := fmt.Sprintf("in%d", i)
		if f == "_" {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		n.Inputs = append(n.Inputs, operand)
		x, constant := parseOperand(t, f)
		if constant {
			g.Initializers = append(g.Initializers, modelTensor(operand, x))
			continue
		}
		c.values[operand] = x
		g.Inputs = append(g.Inputs, inputOf(operand, x))
	}
	results, values, ok := strings.Cut(right, " = ")
	for i, f := range strings.Fields(results) {
		out := fmt.Sprintf("out%d", i)
		if f == "_" {
			n.Outputs = append(n.Outputs, "")
			continue
		}
		n.Outputs = append(n.Outputs, out)
		g.Outputs = append(g.Outputs, ValueInfo{Name: out})
		c.types = append(c.types, f)
	}
	for _, f := range strings.Fields(values) {
		c.want = append(c.want, parseNumber(t, f))
	}
	if ok && c.want == nil {
		c.want = []float64{}
	}
	c.model = &Model{IRVersion: 8, Opsets: map[string]int{c.domain: v}, Graph: g}
	return c
}

func parseNumber(t *testing.T, s string) float64 {
	if s == "nan" {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// parseOperand reads a type, or a constant.
func parseOperand(t *testing.T, s string) (x *tensor.Tensor, constant bool) {
	at := strings.IndexAny(s, "[{:")
	if at < 0 {
		t.Fatalf("operand %q", s)
	}
	d, ok := shortNames[s[:at]]
	if !ok {
		t.Fatalf("operand %q: unknown type", s)
	}
	list := strings.FieldsFunc(s[at:], func(r rune) bool { return strings.ContainsRune("[]{}:,", r) })
	switch s[at] {
	case '[':
		shape := []int{}
		for _, f := range list {
			shape = append(shape, int(parseNumber(t, f)))
		}
		return ramp(d.d, shape...), false
	case ':':
		x = tensor.New(d.d)
		x.Shape = []int{}
	default:
		x = tensor.New(d.d, len(list))
	}
	for i, f := range list {
		x.SetFloat(i, parseNumber(t, f))
	}
	return x, true
}

func ramp(d types.DType, shape ...int) *tensor.Tensor {
	x := tensor.New(d, shape...)
	for i := range x.Len() {
		switch {
		case d == types.Bool:
			x.SetInt(i, int64(i%2))
		case d.IsFloat():
			x.SetFloat(i, float64(i+1)/4)
		default:
			x.SetInt(i, int64(i+1))
		}
	}
	return x
}

func parseAttr(t *testing.T, key, value string) Attr {
	number := func(s string) (int64, bool) {
		v, err := strconv.ParseInt(s, 10, 64)
		return v, err == nil
	}
	if text, err := strconv.Unquote(value); err == nil {
		return Attr{Name: key, Type: AttrString, value: text}
	}
	if list, ok := strings.CutPrefix(value, "["); ok {
		var ints []int64
		var floats []float32
		for _, f := range strings.FieldsFunc(strings.TrimSuffix(list, "]"), func(r rune) bool { return r == ',' }) {
			floats = append(floats, float32(parseNumber(t, f)))
			if v, ok := number(f); ok {
				ints = append(ints, v)
			}
		}
		if len(ints) == len(floats) {
			return Attr{Name: key, Type: AttrInts, value: ints}
		}
		return Attr{Name: key, Type: AttrFloats, value: floats}
	}
	if v, ok := number(value); ok {
		return Attr{Name: key, Type: AttrInt, value: v}
	}
	if x, ok := strings.CutPrefix(value, "tensor:"); ok {
		v, _ := parseOperand(t, x)
		return Attr{Name: key, Type: AttrTensor, value: modelTensor("", v)}
	}
	return Attr{Name: key, Type: AttrFloat, value: float32(parseNumber(t, value))}
}

func modelTensor(name string, x *tensor.Tensor) *Tensor {
	return &Tensor{Name: name, DType: modelDType(x.DType), Dims: slices.Clone(x.Shape), Data: x.Bytes()}
}

func modelDType(d types.DType) DType {
	for _, n := range shortNames {
		if n.d == d {
			return n.onnx
		}
	}
	panic("no ONNX type for " + d.String())
}

func inputOf(name string, x *tensor.Tensor) ValueInfo {
	v := ValueInfo{Name: name, Type: Type{Kind: KindTensor, Ranked: true, Elem: modelDType(x.DType)}}
	for _, n := range x.Shape {
		v.Dims = append(v.Dims, Dim{Value: int64(n)})
	}
	return v
}

// TestMatMulNBitsRefuses: what MatMulNBits cannot be, in one line each.
func TestMatMulNBitsRefuses(t *testing.T) {
	sixteen := "u8{" + strings.TrimSuffix(strings.Repeat("0,", 8), ",") + "}"
	for _, c := range []struct{ operands, want string }{
		{sixteen + " f32{1} _ i32{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} K=16 N=1 block_size=16", "g_idx is not supported"},
		{sixteen + " f32{1} K=16 N=1 bits=2 block_size=16", "weights of 2 bits"},
		{sixteen + " f32{1} K=16 N=1 block_size=24", "block_size 24"},
		{sixteen + " f32{1} K=16 N=2 block_size=16", "not 16 bytes"},
		{sixteen + " f32{1} K=0 N=2 block_size=16", "K 0 and N 2"},
		{sixteen + " f32{1} K=4611686018427387904 N=4611686018427387904 block_size=16", "are no matrix"},
		{sixteen + " f32{1} K=1099511627776 N=1 block_size=16", "bytes"},
		{sixteen + " f32{1} K=16 N=1 block_size=4611686018427387904", ""},
		{sixteen + " f32{1} u8{1,2} K=16 N=1 block_size=16", "not 1 byte"},
		{sixteen + " f32{1,2} K=16 N=1 block_size=16", ""},
		{"u8[8] f32{1} K=16 N=1 block_size=16", "B is computed"},
	} {
		row := parseRow(t, "com.microsoft.MatMulNBits@1 f32[1,16] "+c.operands+" -> f32[1,1]")
		if _, err := Import(row.model, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.operands, err, c.want)
		}
	}
}
