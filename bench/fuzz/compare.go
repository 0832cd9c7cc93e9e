package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
	"lathe/test/fuzz"
)

var elemTypes = map[types.DType]ort.TensorElementDataType{
	types.F32: ort.TensorElementDataTypeFloat, types.F64: ort.TensorElementDataTypeDouble, types.F16: ort.TensorElementDataTypeFloat16,
	types.BF16: ort.TensorElementDataTypeBFloat16, types.Bool: ort.TensorElementDataTypeBool,
	types.I8: ort.TensorElementDataTypeInt8, types.U8: ort.TensorElementDataTypeUint8, types.I16: ort.TensorElementDataTypeInt16,
	types.U16: ort.TensorElementDataTypeUint16, types.I32: ort.TensorElementDataTypeInt32, types.U32: ort.TensorElementDataTypeUint32,
	types.I64: ort.TensorElementDataTypeInt64, types.U64: ort.TensorElementDataTypeUint64,
}

// peerStep is the step in which ONNX Runtime runs.
const peerStep = "onnxruntime"

// compare runs a case in ONNX Runtime, operator by operator, and compares with the reference. What ONNX Runtime has no kernel
// for, or ends with an error, is refused.
func compare(c *fuzz.Case, _ []string, step func(string)) fuzz.Outcome {
	step("reference")
	refused := func(err error) fuzz.Outcome { return fuzz.Outcome{Kind: fuzz.Refused, Detail: err.Error()} }
	g, err := fuzz.Load(c.File)
	if err != nil {
		return refused(fmt.Errorf("lathe: %w", err))
	}
	if c.Data != graphtest.Moderate || !fuzz.Small(g) {
		return fuzz.Outcome{Kind: fuzz.Large}
	}
	if n := slices.IndexFunc(g.Nodes, func(n *graph.Node) bool { return open(n) != "" }); n >= 0 {
		return refused(errors.New(open(g.Nodes[n])))
	}
	m, err := frontend.Read(c.File, "")
	if err != nil {
		return refused(err)
	}
	if folds(m, g) {
		return refused(errors.New("something is computed from constants, of which nobody knows how sure it is"))
	}
	for _, n := range m.Graph.Nodes {
		if n.OpType == "TopK" && slices.ContainsFunc(n.Attrs, func(a frontend.Attr) bool { return a.Name == "sorted" }) {
			return refused(errors.New("the order of the greatest elements is open"))
		}
		if why := decomposed[n.OpType]; why != "" {
			return refused(errors.New("ONNX Runtime differs from the text of ONNX: " + why))
		}
	}
	if len(g.Inputs) == 0 {
		return refused(errors.New("no inputs")) // of which ONNX Runtime's binding makes a panic
	}
	inputs := fuzz.Inputs(g, c.Seed, c.Data)
	want, err := fuzz.Refer(g, inputs, false)
	if err != nil {
		return refused(err)
	}
	if want.Odd {
		return refused(errors.New("NaN or an infinity on the way"))
	}
	step(peerStep)
	got, err := run(c.File, g, inputs, want)
	if err != nil {
		return refused(err)
	}
	if m := want.Compare(got); m != nil {
		var names []string
		for _, n := range g.Nodes {
			names = append(names, n.Op.Name)
		}
		slices.Sort(names)
		return fuzz.Outcome{Kind: fuzz.Wrong, Signature: "onnxruntime differs: " + strings.Join(slices.Compact(names), " "), Detail: fmt.Sprintf("%v\n%s", m, g)}
	}
	return fuzz.Outcome{Kind: fuzz.Right}
}

// open says why a node's result is not defined by ONNX for the data it may get, or nothing.
func open(n *graph.Node) string {
	switch n.Op {
	case ops.Take, ops.Gather, ops.GatherND, ops.ScatterElements, ops.ScatterND, ops.MaxUnpool, ops.TensorScatter, ops.RoiAlign, ops.RoiPool,
		ops.ReverseSequence:
		return "indices may be out of range"
	case ops.Quantize:
		if !n.In[1].IsConst() {
			return "the scale may be 0"
		}
	case ops.LeftShift, ops.RightShift:
		return "shifts may be greater than the width"
	case ops.Divide, ops.Mod, ops.FloorMod, ops.FloorDivide, ops.Power:
		if !n.In[0].Type.DType.IsFloat() {
			return "integers are divided, maybe by 0"
		}
	case ops.Cast:
		if n.In[0].Type.DType.IsFloat() && !n.Out[0].Type.DType.IsFloat() && n.Out[0].Type.DType != types.Bool {
			return "floats become integers, which may be out of range"
		}
	}
	if w, ok := otherwise[n.Op]; ok && (w.when == nil || w.when(n.Attrs)) {
		return "ONNX Runtime differs from the text of ONNX: " + w.what
	}
	if strings.HasPrefix(n.Op.Name, "image.") && n.In[0].Type.DType == types.F16 {
		return "ONNX Runtime computes positions in float16"
	}
	if (n.Op == ops.GroupNorm || n.Op == ops.Shrink) && n.In[0].Type.DType == types.F64 {
		return "ONNX Runtime computes in float32"
	}
	if slices.Contains(empty, n.Op) && n.In[0].Type.Elements() == 0 {
		return "a reduction of nothing"
	}
	return ""
}

// folds reports whether g has constants of floats that the file does not have.
func folds(m *frontend.Model, g *graph.Graph) bool {
	known := map[string]bool{}
	for _, t := range m.Graph.Initializers {
		known[t.Name] = true
	}
	outputs := map[*graph.Value]bool{}
	for _, n := range g.Nodes {
		if n.Op == ops.Copy {
			outputs[n.In[0]] = true
		}
	}
	return slices.ContainsFunc(g.Constants(), func(v *graph.Value) bool {
		return v.Type.DType.IsFloat() && (v.Type.Elements() > 1 || outputs[v]) && !known[v.Name] || !v.Type.DType.IsFloat() && v.Name != "" && !known[v.Name]
	})
}

// otherwise are operators that ONNX Runtime 1.30 computes otherwise than ONNX says, or that ONNX leaves open.
var otherwise = map[*op.Def]struct {
	what string
	when func(attrs any) bool
}{
	ops.Col2Im: {"padding behind is taken for padding before, and dilated blocks lie elsewhere", func(a any) bool {
		c := a.(ops.Col2ImAttrs)
		n := len(c.Padding) / 2
		return !slices.Equal(c.Padding[:n], c.Padding[n:]) || types.Count(c.Dilation) > 1
	}},
	ops.Pad: {"wrap further than the tensor, or with negative pads", func(a any) bool { return a.(ops.PadAttrs).Mode == "wrap" }},
	ops.Resize: {"regions of other axes than the spatial ones; scales with align_corners are rounded to sizes first; tf_half_pixel_for_nn for other methods than nearest leaves out axes of scale 1", func(a any) bool {
		r := a.(ops.ResizeAttrs)
		return r.CoordinateTransformationMode == "tf_half_pixel_for_nn" && r.Method != "nearest" || r.ROI != nil || r.CoordinateTransformationMode == "align_corners" && len(r.Scales) > 0
	}},
	ops.GridSample: {"cubic samples beyond the border", func(a any) bool {
		g := a.(ops.GridSampleAttrs)
		return g.Method == "cubic" && g.PaddingMode == "border"
	}},
	ops.AffineGrid: {"one point along an axis with align_corners", func(a any) bool {
		g := a.(ops.AffineGridAttrs)
		return g.AlignCorners && slices.Contains(g.Sizes, 1)
	}},
}

// decomposed are operators of files, which import as several, that ONNX Runtime 1.30 computes otherwise.
var decomposed = map[string]string{
	"MeanVarianceNormalization": "the variance is a difference of means, which may be less than 0",
}

// empty are the reductions that give nothing certain of nothing.
var empty = []*op.Def{ops.Max, ops.Min, ops.Mean, ops.ArgMax, ops.ArgMin}

// run is the results of ONNX Runtime without its optimisations.
func run(file []byte, g *graph.Graph, inputs []*tensor.Tensor, want *fuzz.Reference) (outs []*tensor.Tensor, err error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer o.Destroy()
	if err := errors.Join(o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll), o.SetIntraOpNumThreads(1), o.SetInterOpNumThreads(1)); err != nil {
		return nil, err
	}
	var names, outNames []string
	var ins, results []ort.Value
	defer func() {
		for _, v := range append(ins, results...) {
			err = errors.Join(err, v.Destroy())
		}
	}()
	for i, v := range g.Inputs {
		t, err := value(inputs[i])
		if err != nil {
			return nil, err
		}
		names, ins = append(names, v.Name), append(ins, t)
	}
	for i, v := range g.Outputs {
		outs = append(outs, tensor.NewOf(want.Outs[i].Type()))
		t, err := value(outs[i])
		if err != nil {
			return nil, err
		}
		outNames, results = append(outNames, v.Name), append(results, t)
	}
	s, err := ort.NewDynamicAdvancedSessionWithONNXData(file, names, outNames, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Destroy()) }()
	return outs, s.Run(ins, results)
}

// value shares t's bytes.
func value(t *tensor.Tensor) (ort.Value, error) {
	shape := make(ort.Shape, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int64(n)
	}
	if t.Len() == 0 {
		return nil, errors.New("an empty tensor")
	}
	return ort.NewCustomDataTensor(shape, t.Bytes(), elemTypes[t.DType])
}
