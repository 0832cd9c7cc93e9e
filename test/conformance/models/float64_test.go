package models

import (
	"path/filepath"
	"slices"
	"testing"

	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/types"
)

// preciseModels have outputs that ONNX Runtime computed, and operators whose errors add up: a state that is carried on,
// magnitudes of sums that nearly cancel.
var preciseModels = []struct{ model, data string }{
	{"onnx/silero_vad/silero_vad_v5_16k_op15.onnx", "reference_outputs/onnx_silero_v5_op15_16k.npz"},
}

// asPrecise bounds the distance of compiled outputs from float64, in distances of ONNX Runtime's, by level. At -O0 no layout is
// chosen, and where lanes cannot run over outputs a sum is one chain of additions.
var asPrecise = map[int]float64{0: 2.5, 3: 1}

// TestConformanceFloat64 evaluates models in float64: compiled outputs are about as close to that as those of ONNX
// Runtime, at -O0, where every node is computed by itself, and with all optimisations.
func TestConformanceFloat64(t *testing.T) {
	root := realmodels.Folder(t)
	for _, c := range preciseModels {
		t.Run(c.model, func(t *testing.T) {
			given, theirs := modeltest.Read(t, filepath.Join(root, c.data))
			file := filepath.Join(root, c.model)
			g, in := importedFor(t, file, given)
			widenGraph(t, g)
			var wide []*tensor.Tensor
			for _, x := range in {
				wide = append(wide, widened(x))
			}
			truth, err := grapheval.Eval(g, wide)
			if err != nil {
				t.Fatal(err)
			}
			g, in = importedFor(t, file, given)
			names := modeltest.Names(g.Outputs)
			answers := theirs.Of(t, names)
			for _, level := range []int{0, 3} {
				for i, got := range modeltest.Run(t, g, level, in) {
					ours, theirs := modeltest.Relative(got, truth[i]), modeltest.Relative(answers[i], truth[i])
					t.Logf("-O%d: %s is %.2e from float64, ONNX Runtime's %.2e", level, names[i], ours, theirs)
					if !(ours <= asPrecise[level]*theirs) {
						t.Errorf("-O%d: %s is %.2e from float64, ONNX Runtime's only %.2e", level, names[i], ours, theirs)
					}
				}
			}
		})
	}
}

// importedFor imports a model for arrays, numbers among them as constants, and returns what the graph's inputs get.
func importedFor(t *testing.T, file string, given modeltest.Arrays) (*graph.Graph, []*tensor.Tensor) {
	t.Helper()
	m, err := onnx.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	o := onnx.Options{Shapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
	for _, x := range given {
		if len(x.Shape) == 0 {
			o.Values[x.Name] = x.Tensor
		} else {
			o.Shapes[x.Name] = x.Shape
		}
	}
	g, err := onnx.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return g, given.Of(t, modeltest.Names(g.Inputs))
}

// widenGraph makes all float32 values of a graph float64.
func widenGraph(t *testing.T, g *graph.Graph) {
	t.Helper()
	for _, v := range g.Inputs {
		if v.Type.DType == types.F32 {
			v.Type.DType = types.F64
		}
	}
	consts := map[*graph.Value]*graph.Value{}
	for _, n := range g.Nodes {
		n.In = slices.Clone(n.In)
		for i, v := range n.In {
			if v.IsConst() && v.Type.DType == types.F32 {
				if consts[v] == nil {
					consts[v] = graph.NewConst(v.Name, widened(v.Const))
				}
				n.In[i] = consts[v]
			}
		}
		if a, ok := n.Attrs.(ops.CastAttrs); ok && a.DType == types.F32 {
			n.Attrs = ops.CastAttrs{DType: types.F64}
		}
		for _, o := range n.Out {
			o.Known = nil
		}
		if err := n.Infer(); err != nil {
			t.Fatalf("%s %v: %v", n.Op.Name, n.Origin, err)
		}
	}
	if err := graph.Verify(g); err != nil {
		t.Fatal(err)
	}
}

func widened(x *tensor.Tensor) *tensor.Tensor {
	if x.DType != types.F32 {
		return x
	}
	y := tensor.New(types.F64, x.Shape...)
	for i := range y.Len() {
		y.SetFloat(i, x.Float(i))
	}
	return y
}
