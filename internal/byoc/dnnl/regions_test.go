package dnnl_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"lathe/internal/byoc"
	bydnnl "lathe/internal/byoc/dnnl"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
	"lathe/runtime/dnnl"
	"lathe/runtime/external"
)

// regionsOf are the regions that oneDNN takes of g.
func regionsOf(t *testing.T, g *graph.Graph) []pass.Region {
	t.Helper()
	c := &pass.Context{Graph: g, Level: 3, Codegens: []byoc.Chosen{{Codegen: &bydnnl.Codegen, Given: byoc.Options{{Name: "select", Value: "all"}}}}}
	for _, p := range pass.Table {
		switch p.Name {
		case "PrerequisiteOptimize", "MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph", "InlineComposites":
			if err := p.Run(c); err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
		}
	}
	return c.Regions
}

// same runs a region by oneDNN, twice, and compares it with the reference evaluation of its graph.
func same(t *testing.T, r *rand.Rand, region byoc.Region) error {
	t.Helper()
	m, err := bydnnl.Codegen.Compile(context.Background(), region, nil)
	if err != nil {
		return err
	}
	g := region.Graph
	in := graphtest.Inputs(r, g)
	want, err := grapheval.Eval(g, in)
	if err != nil {
		return err
	}
	blob := make([]byte, len(m.Bytes)+64)
	blob = blob[-int(uintptr(unsafe.Pointer(&blob[0])))&63:][:len(m.Bytes)] // as packages are mapped
	copy(blob, m.Bytes)
	info := external.Info{Symbol: region.Symbol, Workers: 2}
	var out []*tensor.Tensor
	for _, v := range g.Inputs {
		info.Inputs = append(info.Inputs, tensorOf(tensor.NewOf(v.Type)))
	}
	for _, v := range g.Outputs {
		out = append(out, tensor.NewOf(v.Type))
		info.Outputs = append(info.Outputs, tensorOf(out[len(out)-1]))
	}
	module, err := dnnl.Runtime.Open(blob, info)
	if err != nil {
		return err
	}
	defer module.Close()
	var ins, outs []external.Tensor
	for _, x := range in {
		ins = append(ins, tensorOf(x))
	}
	for _, y := range out {
		outs = append(outs, tensorOf(y))
	}
	for run := range 2 {
		for _, y := range out {
			clear(y.Bytes())
		}
		if err := module.Run(ins, outs, 1+run); err != nil {
			return err
		}
		for i := range want {
			if d := distance(tensor.As[float32](want[i]), tensor.As[float32](out[i])); !(d <= tolerance) {
				return fmt.Errorf("run %d: output %d is off by %g", run, i, d)
			}
		}
	}
	return nil
}

func tensorOf(x *tensor.Tensor) external.Tensor {
	t := external.Tensor{DType: x.DType.String(), Bytes: len(x.Bytes())}
	for _, n := range x.Shape {
		t.Shape = append(t.Shape, int64(n))
	}
	if len(x.Bytes()) > 0 {
		t.Data = unsafe.Pointer(&x.Bytes()[0])
	}
	return t
}

// TestRegions compares what oneDNN computes of random networks with the reference.
func TestRegions(t *testing.T) {
	here(t)
	samples := uint64(300)
	if testing.Short() {
		samples = 60
	}
	count := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 81))
		g := graphtest.New(r)
		text := g.String()
		for _, region := range regionsOf(t, g) {
			count++
			if err := same(t, r, region.Region); err != nil {
				t.Errorf("seed %d: %v\n%s\nof\n%s", seed, err, region.Graph, text)
			}
		}
	}
	if count < int(samples)/2 {
		t.Errorf("only %d regions", count)
	}
}

// TestOperators compares every operator that oneDNN takes, in random uses, with its definition.
func TestOperators(t *testing.T) {
	here(t)
	uses := 40
	if testing.Short() {
		uses = 10
	}
	taken := map[string]int{}
	for _, d := range ops.All {
		for seed := range uint64(400) {
			if taken[d.Name] >= uses {
				break
			}
			r := rand.New(rand.NewPCG(seed, 83))
			attrs, in := d.Sample(r)
			g := &graph.Graph{Name: "main"}
			values, floats := []*graph.Value{}, true
			for i, x := range in {
				floats = floats && x.DType == types.F32
				if i > 0 && r.IntN(2) == 0 && floats {
					values = append(values, graph.NewConst(fmt.Sprintf("c%d", i), random(r, x.Shape)))
				} else {
					values = append(values, g.Input(fmt.Sprintf("x%d", i), types.Of(x.DType, x.Shape...)))
				}
			}
			if !floats {
				continue
			}
			n, err := g.Apply(d, attrs, values...)
			if err != nil {
				continue
			}
			n.Out[0].Name, g.Outputs = "y", slices.Clone(n.Out)
			text := g.String()
			for _, region := range regionsOf(t, g) {
				taken[d.Name]++
				if err := same(t, r, region.Region); err != nil {
					t.Errorf("%s, seed %d: %v\n%s", d.Name, seed, err, text)
				}
			}
		}
	}
	for _, name := range []string{"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense", "nn.matmul", "nn.max_pool2d", "nn.avg_pool2d", "nn.softmax", "concatenate", "add", "nn.relu"} {
		if taken[name] < uses/4 {
			t.Errorf("only %d uses of %s are taken", taken[name], name)
		}
	}
}

func random(r *rand.Rand, shape []int) *tensor.Tensor {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, r.NormFloat64())
	}
	return t
}
