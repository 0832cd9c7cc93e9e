package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"lathe/internal/byoc"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
	"lathe/runtime"
	"lathe/runtime/external"
)

// A reference is an external code generator for tests: it takes operators by name, and its run-time module runs the region by the reference
// evaluation of its graph.
type reference struct {
	takes   []string
	regions map[string]*graph.Graph
	fails   error // of every run
	runs    int
}

func (r *reference) chosen() byoc.Chosen {
	r.regions = map[string]*graph.Graph{}
	return byoc.Chosen{Codegen: &byoc.Codegen{
		Name: "reference",
		Patterns: func(byoc.Options) []byoc.Pattern {
			return []byoc.Pattern{{Name: "conv2d_relu", Root: byoc.Op("nn.conv2d").Optional("nn.relu")}}
		},
		Supports: func(n *graph.Node, _ byoc.Options) error {
			if !slices.Contains(r.takes, n.Op.Name) {
				return errors.New("not in the list")
			}
			return nil
		},
		Compile: func(_ context.Context, region byoc.Region, _ byoc.Options) (byoc.Module, error) {
			if err := graph.Verify(region.Graph); err != nil {
				return byoc.Module{}, err
			}
			r.regions[region.Symbol] = region.Graph
			return byoc.Module{Kind: byoc.Blob, Runtime: "reference", Bytes: []byte(region.Symbol)}, nil
		},
	}}
}

func (r *reference) runtime() external.Runtime {
	return external.Runtime{Name: "reference", Open: func(blob []byte, info external.Info) (external.Module, error) {
		g := r.regions[string(blob)]
		if g == nil || len(g.Inputs) != len(info.Inputs) || len(g.Outputs) != len(info.Outputs) {
			return nil, fmt.Errorf("no region %q", blob)
		}
		return &referenceModule{r, g}, nil
	}}
}

type referenceModule struct {
	*reference
	g *graph.Graph
}

func (m *referenceModule) Close() error { return nil }

func (m *referenceModule) Run(in, out []external.Tensor, _ int) error {
	if m.fails != nil {
		return m.fails
	}
	m.runs++
	var args []*tensor.Tensor
	for i, t := range in {
		if t.DType != m.g.Inputs[i].Type.DType.String() {
			return fmt.Errorf("input %d is %s", i, t.DType)
		}
		args = append(args, tensor.Over(m.g.Inputs[i].Type.DType, shapeOf(t), slices.Clone(dataOf(t))))
	}
	results, err := grapheval.Eval(m.g, args)
	if err != nil {
		return err
	}
	for i, t := range out {
		if copy(dataOf(t), results[i].Bytes()) != len(results[i].Bytes()) {
			return fmt.Errorf("output %d has %d bytes", i, t.Bytes)
		}
	}
	return nil
}

func dataOf(t external.Tensor) []byte { return unsafe.Slice((*byte)(t.Data), t.Bytes) }

func shapeOf(t external.Tensor) []int {
	shape := make([]int, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int(n)
	}
	return shape
}

// TestExternalRegions: whatever a generator takes of random networks, these compute the same by its module and by their own steps, at
// every level and with any number of workers.
func TestExternalRegions(t *testing.T) {
	t.Parallel()
	samples := uint64(60)
	if testing.Short() {
		samples = 12
	}
	tgt := targettest.Resolve(t, "llvm")
	regions := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 77))
		g := graphtest.New(r)
		if seed%4 == 0 {
			g = graphtest.Loops(r)
		}
		ref := &reference{}
		for _, n := range g.Nodes {
			if r.IntN(3) > 0 {
				ref.takes = append(ref.takes, n.Op.Name)
			}
		}
		in := graphtest.Inputs(r, g)
		want, err := evaltest.Actual(g, in)
		if err != nil {
			t.Fatal(err)
		}
		text := g.String()
		res, err := compile.Compile(context.Background(), g, compile.Options{Target: tgt, Level: int(seed) % 5, Workers: 2, Codegens: []byoc.Chosen{ref.chosen()}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		count := len(res.Contents.Manifest.External)
		regions += count
		for _, workers := range []int{1, 3} {
			for _, options := range [][]runtime.Option{nil, {runtime.WithExternal(ref.runtime())}} {
				ref.runs = 0
				got, err := executeWith(res, in, workers, options...)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, text)
				}
				for i := range want {
					if d := relL2(want[i], got[i]); d > networkTolerance {
						t.Errorf("seed %d, %d workers, %d regions run: output %d is off by %g\n%s\n%s", seed, workers, ref.runs, i, d, text, g)
					}
				}
				if options != nil && ref.runs != count {
					t.Errorf("seed %d: %d of %d regions run", seed, ref.runs, count)
				}
			}
		}
	}
	if regions < int(samples)/2 {
		t.Errorf("only %d regions", regions)
	}
}

// relL2 is the relative distance of two tensors.
func relL2(want, got *tensor.Tensor) float64 {
	if want.DType != got.DType || !slices.Equal(want.Shape, got.Shape) {
		return 1
	}
	if want.DType != types.F32 && slices.Equal(want.Bytes(), got.Bytes()) {
		return 0
	}
	row := compareRow("", nil, want, got, 0)
	return row.RelL2
}

// TestExternalModes: regions whose module is missing are noted and computed, required or left out as the environment says; a failing run
// is an error that names the region.
func TestExternalModes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	g := graphtest.New(r)
	in := graphtest.Inputs(r, g)
	ref := &reference{}
	for _, n := range g.Nodes {
		ref.takes = append(ref.takes, n.Op.Name)
	}
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 1, Codegens: []byoc.Chosen{ref.chosen()}})
	if err != nil {
		t.Fatal(err)
	}
	with := runtime.WithExternal(ref.runtime())
	path := t.TempDir() + "/net.tar"
	if err := res.Write(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	notes := func(mode string, options ...runtime.Option) string {
		t.Setenv(runtime.ExternalVariable, mode)
		m, err := runtime.Open(path, options...)
		if err != nil {
			return err.Error()
		}
		defer m.Close()
		return fmt.Sprint(len(m.External()), m.Notes())
	}
	const missing = `there is no run-time module "reference" here (LATHE_EXTERNAL_PATH names no folder with liblathe_ext_reference.so)`
	for _, c := range []struct{ got, want string }{
		{notes("", with), "1 []"},
		{notes("require", with), "1 []"},
		{notes("off", with), "0 []"},
		{notes(""), "0 [reference: " + missing + "; the CPU computes what it was to]"},
		{notes("require"), "external region tvmgen_default_reference_main_0 (reference): " + missing},
		{notes("never"), `environment variable LATHE_EXTERNAL="never": must be off, require or auto`},
	} {
		if !strings.HasSuffix(c.got, c.want) {
			t.Errorf("%s instead of %s", c.got, c.want)
		}
	}
	t.Setenv(runtime.ExternalVariable, "")
	ref.fails = errors.New("the device is gone")
	if _, err := executeWith(res, in, 1, with); err == nil || err.Error() != "run: external region tvmgen_default_reference_main_0 (reference): the device is gone" {
		t.Error(err)
	}
}
