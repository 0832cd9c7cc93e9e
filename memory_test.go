package lathe

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/testkit/onnxtest"
	"lathe/internal/types"
	"lathe/runtime"
)

// large is the elements of a result that no machine holds: four terabytes of float32.
const large = 1 << 40

// largeModels are small files that ask for a large result, one for every operator that makes one from little.
func largeModels() map[string]*onnxtest.Graph {
	const side = 1 << 20
	v, n, ints := onnxtest.V, onnxtest.N, onnxtest.Ints
	x := v("x", types.F32, 1)
	small := func(w onnxtest.Weight) onnxtest.Weight { w.Dims = []int{}; return w }
	of := func(inputs []onnxtest.Value, weights []onnxtest.Weight, nodes ...onnxtest.Node) *onnxtest.Graph {
		return &onnxtest.Graph{Inputs: inputs, Weights: weights, Nodes: nodes, Outputs: []onnxtest.Value{v("y", types.F32, 1)}}
	}
	both := []onnxtest.Value{v("a", types.F32, side, 1), v("b", types.F32, 1, side)}
	models := map[string]*onnxtest.Graph{
		"an input": of([]onnxtest.Value{v("a", types.F32, large)}, nil, n("ReduceMax a -> y")),
		"Expand":   of([]onnxtest.Value{x}, []onnxtest.Weight{ints("s", large)}, n("Expand x s -> y")),
		"Tile":     of([]onnxtest.Value{x}, []onnxtest.Weight{ints("s", large)}, n("Tile x s -> y")),
		"Pad":      of([]onnxtest.Value{x}, []onnxtest.Weight{ints("s", large-1, 0)}, n("Pad x s -> y")),
		"OneHot": of([]onnxtest.Value{v("i", types.I64, side)}, []onnxtest.Weight{small(ints("d", side)), {Name: "v", Dims: []int{2}, Floats: []float32{0, 1}}},
			n("OneHot i d v -> y")),
		"Resize": of([]onnxtest.Value{v("x", types.F32, 1, 1, 1, 1)}, []onnxtest.Weight{{Name: "s", Dims: []int{4}, Floats: []float32{1, 1, side, side}}},
			n("Resize x _ s -> y", "mode", "nearest")),
		"ConvTranspose": of([]onnxtest.Value{v("x", types.F32, 1, 1, 2, 2)}, []onnxtest.Weight{onnxtest.Random("w", 1, 1, 1, 1)},
			n("ConvTranspose x w -> y", "strides", []int{side - 1, side - 1})),
		"Conv": of([]onnxtest.Value{v("x", types.F32, 1, 1, 1, 1)}, []onnxtest.Weight{onnxtest.Random("w", 1, 1, 1, 1)},
			n("Conv x w -> y", "pads", []int{side/2 - 1, side/2 - 1, side / 2, side / 2})),
		"a broadcast":  of(both, nil, n("Add a b -> y")),
		"MatMul":       of(both, nil, n("MatMul a b -> y")),
		"Einsum":       of([]onnxtest.Value{v("a", types.F32, side), v("b", types.F32, side)}, nil, n("Einsum a b -> y", "equation", "i,j->ij")),
		"Gather":       of([]onnxtest.Value{v("a", types.F32, 2, side), v("i", types.I64, side)}, nil, n("Gather a i -> y")),
		"intermediate": of(both, nil, n("MatMul a b -> m"), n("Softmax m -> s"), n("ReduceMax s -> y")),
	}
	doubling := of([]onnxtest.Value{x}, nil)
	last := "x"
	for i := range 40 {
		next := fmt.Sprintf("c%d", i)
		doubling.Nodes = append(doubling.Nodes, n("Concat "+last+" "+last+" -> "+next, "axis", 0))
		last = next
	}
	doubling.Nodes = append(doubling.Nodes, n("Relu "+last+" -> y"))
	models["Concat"] = doubling
	return models
}

// TestLargeResults: a model that asks for more memory than there is is inspected, compiles with a note, and is neither run nor verified;
// nothing of its size is allocated on the way, which would end the process.
func TestLargeResults(t *testing.T) {
	models := largeModels()
	for _, name := range slices.Sorted(maps.Keys(models)) {
		t.Run(name, func(t *testing.T) {
			m, err := Load(writeModel(t, models[name]), LoadOptions{})
			if err == nil {
				err = m.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := Inspect(t.Context(), m)
			if err != nil || info.Memory == nil || info.Memory.Run < large {
				t.Errorf("inspected: memory %v, %v, %s", info.Memory, err, info.Refusal)
			}
			var notes []string
			p, err := Compile(t.Context(), m, CompileOptions{Notes: func(s string) { notes = append(notes, s) }})
			if err != nil {
				t.Fatal(err)
			}
			if len(notes) != 1 || !strings.HasPrefix(notes[0], "a run needs ") || !strings.Contains(notes[0], "GiB are available (") {
				t.Errorf("notes %q", notes)
			}
			if p.Info().Notes != nil {
				t.Error("the package depends on the memory of the machine that compiled it")
			}
			path := filepath.Join(t.TempDir(), "m.tar")
			if err := p.Save(path); err != nil {
				t.Fatal(err)
			}
			if r, err := runtime.Open(path); err == nil { // a kernel may promise any amount, see vm.overcommit_memory
				r.Close()
			} else if !strings.Contains(err.Error(), ": the run needs ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("opened: %v", err)
			}
			for _, perOperator := range []bool{false, true} {
				_, err := Verify(t.Context(), m, VerifyOptions{PerOperator: perOperator})
				if err == nil || !strings.HasPrefix(err.Error(), "the reference evaluation needs ") || !strings.Contains(err.Error(), " are available (") || strings.Contains(err.Error(), "\n") {
					t.Errorf("verified, per operator %v: %v", perOperator, err)
				}
			}
		})
	}
}

// TestLargeConstants: what a model computes of constants is refused too, by the import or before it is computed.
func TestLargeConstants(t *testing.T) {
	refusals := []string{"the constants this model makes take more than 1 GiB", " has too many elements", "the reference evaluation needs"}
	for _, node := range []string{"ConstantOfShape s -> c", "Range zero s1 one -> c", "Tile one1 s -> c", "Expand one1 s -> c"} {
		scalar := func(name string, v int64) onnxtest.Weight {
			return onnxtest.Weight{Name: name, Dims: []int{}, Ints: []int64{v}}
		}
		g := &onnxtest.Graph{
			Inputs: []onnxtest.Value{onnxtest.V("x", types.F32, 1)}, Outputs: []onnxtest.Value{onnxtest.V("y", types.F32, 1)},
			Weights: []onnxtest.Weight{onnxtest.Ints("s", large), scalar("s1", large), scalar("zero", 0), scalar("one", 1), onnxtest.Ints("one1", 1)},
			Nodes:   []onnxtest.Node{onnxtest.N(node), onnxtest.N("Cast c -> f", "to", types.F32), onnxtest.N("Add f x -> y")},
		}
		m, err := Load(writeModel(t, g), LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Err()
		if err == nil {
			_, err = Verify(t.Context(), m, VerifyOptions{})
		}
		if err == nil || strings.Contains(err.Error(), "\n") || !slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			t.Errorf("%s: %v", node, err)
		}
	}
}
