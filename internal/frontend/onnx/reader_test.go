package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wantError checks that an error is there and says want.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", want)
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want one with %q", err, want)
	}
}

func mustRead(t *testing.T, data pb) *Model {
	t.Helper()
	m, err := Read(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestOfficial reads a model that ONNX's own package wrote.
func TestOfficial(t *testing.T) {
	m, err := ReadFile(filepath.Join("testdata", "reader", "official.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.IRVersion != 8 || m.Producer != "make.py" || !slices.Equal(m.Metadata, []Entry{{"key", "value"}}) {
		t.Errorf("IR version %d, producer %q, metadata %v", m.IRVersion, m.Producer, m.Metadata)
	}
	if m.Opsets[""] != 15 || m.Opsets["local"] != 1 || m.Opsets["local.ops"] != 3 || len(m.Opsets) != 3 {
		t.Errorf("opsets %v", m.Opsets)
	}
	x := m.Graph.Inputs[0]
	if x.Name != "x" || x.Kind != KindTensor || x.Elem != Float || x.Dims[0] != (Dim{Value: -1, Param: "N"}) || x.Dims[1] != (Dim{Value: 3}) {
		t.Errorf("input %+v", x)
	}
	if a := m.Graph.ValueInfo[0]; a.Dims[0].Known() || a.Dims[1].Value != 3 {
		t.Errorf("value_info %+v", a)
	}
	typed := m.Graph.Initializers[1]
	if typed.DType != Int8 || !bytes.Equal(typed.Data, []byte{0x80, 0, 127}) {
		t.Errorf("initializer %+v", typed)
	}
	sp := m.Graph.SparseInitializers[0]
	if sp.Name() != "sp" || sp.Values.Dims[0] != 2 || !slices.Equal(sp.Dims, []int{2, 3}) || sp.Indices.Data[8] != 4 {
		t.Errorf("sparse initializer %+v", sp)
	}
	officialAttributes(t, m.Graph.Nodes[4])
}

func officialAttributes(t *testing.T, n *Node) {
	if n.Version != 3 || n.Domain != "local.ops" || !slices.Equal(n.Inputs, []string{"e", "", "typed"}) || n.Outputs[1] != "" {
		t.Errorf("node %+v", n)
	}
	f, err1 := n.Float("f", 0)
	i, err2 := n.Int("i", 0)
	s, err3 := n.Str("s", "")
	w, err4 := n.Tensor("t")
	fs, err5 := n.Floats("fs")
	is, err6 := n.Ints("is_")
	ss, err7 := n.Strs("ss")
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if err != nil {
			t.Error(err)
		}
	}
	if f != 1.5 || i != -7 || s != "text" || !slices.Equal(fs, []float32{0.5, -0.5}) ||
		!slices.Equal(is, []int64{1, -2, 3}) || !slices.Equal(ss, []string{"a", "b"}) {
		t.Errorf("attributes %v %v %q %v %v %q", f, i, s, fs, is, ss)
	}
	if !slices.Equal(w.Dims, []int{2, 3}) || len(w.Data) != 24 || w.Data[6] != 0x80 || w.Data[7] != 0x3f {
		t.Errorf("tensor attribute %+v", w)
	}
	if axis, err := n.Int("axis", 5); axis != 5 || err != nil {
		t.Errorf("absent attribute: %d, %v", axis, err)
	}
	_, err := n.Ints("i")
	wantError(t, err, `local.ops.Custom "attrs": attribute "i" is of type int, not list of ints`)
}

// TestEquivalentForms reads forms that the wire format allows beside the usual ones.
func TestEquivalentForms(t *testing.T) {
	axes := wireAttr("axes", AttrInts).packed(8, 1, -1).int(8, 300)
	scales := wireAttr("scales", AttrFloats).float(7, 2).sub(7, pb{0, 0, 0x40, 0x40})
	old := pb{}.str(1, "old").int(3, 4) // IR version 1: no type
	m := mustRead(t, wireModel(wireGraph("x", "y", pb{}.sub(1, wireNode("Op x -> y", axes, scales, old, wireAttr("zero", AttrInt))))))
	n := m.Graph.Nodes[0]
	if v, err := n.Ints("axes"); err != nil || !slices.Equal(v, []int64{1, -1, 300}) {
		t.Error(v, err)
	}
	if v, err := n.Floats("scales"); err != nil || !slices.Equal(v, []float32{2, 3}) {
		t.Error(v, err)
	}
	if v, err := n.Int("old", 0); err != nil || v != 4 {
		t.Error(v, err)
	}
	if v, err := n.Int("zero", 9); err != nil || v != 0 {
		t.Error(v, err)
	}
}

func TestRealInputs(t *testing.T) {
	g := wireGraph("x w", "y", wireNodes("Add x w -> y"), pb{}.sub(5, wireTensor("w", Float, nil, wireRaw(4))))
	for ir := int64(3); ir <= 4; ir++ {
		m := mustRead(t, pb{}.int(1, ir).sub(8, wireOpset("ai.onnx", 8)).sub(7, g))
		if got := valueNames(m.Graph.RealInputs()); got != "x" {
			t.Errorf("IR version %d: real inputs %q", ir, got)
		}
	}
}

func TestTypes(t *testing.T) {
	float := pb{}.sub(1, pb{}.int(1, 1))
	nested := pb{}.sub(9, pb{}.sub(1, pb{}.sub(4, pb{}.sub(1, float))))
	dict := pb{}.sub(5, pb{}.int(1, int64(Int64)).sub(2, float))
	m := mustRead(t, wireModel(wireJoin(pb{}.sub(11, pb{}.str(1, "o").sub(2, nested)), pb{}.sub(11, pb{}.str(1, "m").sub(2, dict)),
		pb{}.sub(11, wireValue("s")), pb{}.sub(11, pb{}.str(1, "u")))))
	o, d, s, u := m.Graph.Inputs[0], m.Graph.Inputs[1], m.Graph.Inputs[2], m.Graph.Inputs[3]
	if o.Kind != KindOptional || o.Of.Kind != KindSequence || o.Of.Of.Kind != KindTensor || o.Of.Of.Elem != Float || o.Of.Of.Ranked {
		t.Errorf("optional %+v", o)
	}
	if d.Kind != KindMap || d.Elem != Int64 || d.Of.Elem != Float {
		t.Errorf("map %+v", d)
	}
	if !s.Ranked || len(s.Dims) != 0 || u.Kind != KindUnknown {
		t.Errorf("scalar %+v, untyped %+v", s, u)
	}
}

func TestModelErrors(t *testing.T) {
	ok := wireGraph("x", "y", wireNodes("Relu x -> y"))
	deep := wireGraph("", "")
	for range maxDepth + 1 {
		deep = wireGraph("", "", pb{}.sub(1, wireNode("If -> o", wireAttr("then_branch", AttrGraph).sub(6, deep))))
	}
	nest := pb{}
	for range maxDepth + 1 {
		nest = pb{}.sub(4, pb{}.sub(1, nest))
	}
	withAttr := func(a ...pb) pb { return wireModel(wireGraph("x", "y", pb{}.sub(1, wireNode("Op x -> y", a...)))) }
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"no graph", pb{}.int(1, 8).sub(8, wireOpset("", 13)), "holds 0 graphs"},
		{"two graphs", wireModel(ok).sub(7, ok), "holds 2 graphs"},
		{"no ir_version", pb{}.sub(8, wireOpset("", 13)).sub(7, ok), "ir_version is 0"},
		{"no opset", pb{}.int(1, 8).sub(7, ok), "no opset_import"},
		{"opset twice", wireModel(ok).sub(8, wireOpset("ai.onnx", 12)), "versions 13 and 12"},
		{"opset version", wireModel(ok).sub(8, wireOpset("d", -1)), "version -1"},
		{"length beyond the file", wireModel(ok).lie(14, 1<<40), "field 14 claims 1099511627776 bytes where 3 are left"},
		{"length beyond int64", wireModel(ok).lie(14, 1<<63), "cut short"},
		{"node length", wireModel(wireGraph("x", "y").lie(1, 100)), "field 1 claims 100 bytes"},
		{"wire type", wireModel(wireGraph("x", "y").int(1, 5)), "wire type"},
		{"endless varint", append(wireModel(ok), bytes.Repeat([]byte{0xff}, 20)...), "no protobuf field"},
		{"end group", append(wireModel(ok), 0x0c), "field 1 is cut short or damaged"},
		{"nested graphs", wireModel(deep), "nested more than"},
		{"nested types", wireModel(wireGraph("", "", pb{}.sub(11, pb{}.str(1, "v").sub(2, nest)))), "nested more than"},
		{"two types", wireModel(wireGraph("", "", pb{}.sub(11, pb{}.str(1, "v").sub(2, pb{}.sub(1, nil).sub(4, nil))))), "more than one type"},
		{"element type", wireModel(wireGraph("", "", pb{}.sub(11, pb{}.str(1, "v").sub(2, pb{}.sub(1, pb{}.int(1, 1<<32+1)))))), "element type -1"},
		{"no op_type", wireModel(wireGraph("x", "y", pb{}.sub(1, pb{}.str(2, "y")))), "no op_type"},
		{"attribute twice", withAttr(wireAttr("a", AttrInt), wireAttr("a", AttrInt)), `attribute "a" is given twice`},
		{"attribute name", withAttr(pb{}.int(20, 2)), "has no name"},
		{"attribute type", withAttr(wireAttr("a", 99)), "unknown type 99"},
		{"attribute type missing", withAttr(pb{}.str(1, "a")), "unknown type 0"},
		{"attribute without tensor", withAttr(wireAttr("a", AttrTensor)), "holds 0 of them"},
		{"attribute with two graphs", withAttr(wireAttr("a", AttrGraph).sub(6, ok).sub(6, ok)), "holds 2 of them"},
		{"half a float", withAttr(wireAttr("a", AttrFloats).sub(7, pb{1, 2, 3})), "no multiple of 4"},
		{"packed ints", withAttr(wireAttr("a", AttrInts).sub(8, pb{0xff, 0xff})), "packed integer"},
		{"reference outside", withAttr(wireAttr("a", AttrInt).str(21, "p")), "outside of any"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.data, "")
			wantError(t, err, c.want)
		})
	}
}

// TestCutShort cuts a file at every byte: each piece is refused, or is a smaller file in its own right.
func TestCutShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "reader", "official.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for n := range data {
		if _, err := Read(data[:n], ""); err == nil {
			whole++
		}
	}
	if whole > 8 { // the boundaries between the fields behind the graph
		t.Errorf("%d pieces of a model pass for whole", whole)
	}
}

func TestReadFileErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadFile(filepath.Join(dir, "absent.onnx"))
	wantError(t, err, "no such file")
	_, err = ReadFile(dir)
	wantError(t, err, "it is a folder, not a model file")
	path := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = ReadFile(path)
	wantError(t, err, "model.onnx: not an ONNX model: the file is empty")
	_, err = ReadFile(dir)
	wantError(t, err, "the model is the file model.onnx in it")
	_, err = ReadFile("/dev/null")
	wantError(t, err, "not a regular file")
}

func TestCloseTwice(t *testing.T) {
	m, err := ReadFile(filepath.Join("testdata", "reader", "official.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
