package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// sourceOf compiles g, which it changes, to C source of a module name.
func sourceOf(t *testing.T, g *graph.Graph, module string, level int) (*compile.Result, string) {
	t.Helper()
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "c"), Level: level, Workers: 2, Module: module})
	if err != nil {
		t.Fatalf("%s: %v", module, err)
	}
	var b bytes.Buffer
	if err := res.Contents.Files[0].Write(&b); err != nil {
		t.Fatal(err)
	}
	return res, b.String()
}

// A sourceCase is a module of C source with operands and what it should compute.
type sourceCase struct {
	use      string
	manifest *bundle.Manifest
	in       []*tensor.Tensor
	check    func(got []*tensor.Tensor) error
}

// runSources builds the modules, in which undefined behaviour ends the process, and runs them.
func runSources(t *testing.T, sources []string, cases []sourceCase) {
	t.Helper()
	cc, dir := cctest.Compiler(t), t.TempDir()
	flags := slices.Concat(cctest.Strict, cctest.Trapping, []string{"-O1", "-ffp-contract=off", "-fPIC"})
	const batch = 12
	var objects []string
	var jobs [][]string
	for i, s := range sources {
		name := fmt.Sprintf("m%d", i)
		if err := os.WriteFile(filepath.Join(dir, name+".c"), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
		if i%batch == 0 {
			jobs = append(jobs, nil)
		}
		jobs[len(jobs)-1] = append(jobs[len(jobs)-1], name+".c")
		objects = append(objects, name+".o")
	}
	var work sync.WaitGroup
	for half := range 2 {
		work.Go(func() {
			for i := half; i < len(jobs); i += 2 {
				cctest.Run(t, dir, cc, slices.Concat(flags, []string{"-c"}, jobs[i])...)
			}
		})
	}
	work.Wait()
	lib := cctest.Link(t, dir, objects)
	for _, c := range cases {
		got, err := callSource(t, lib, c.manifest, c.in)
		if err == nil {
			err = c.check(got)
		}
		if err != nil {
			t.Errorf("%s: %v", c.use, err)
		}
	}
}

// callSource runs a module in memory with canaries behind every piece.
func callSource(t *testing.T, lib *cctest.Library, m *bundle.Manifest, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	const canary, margin = 0xa5, 64
	var buffers [][]byte
	add := func(n int) []byte {
		b := cctest.Aligned(n + margin)
		for i := range b {
			b[i] = canary
		}
		buffers = append(buffers, b)
		return b
	}
	add(m.Workspace)
	for _, x := range in {
		copy(add(len(x.Bytes())), x.Bytes())
	}
	first := len(buffers)
	var got []*tensor.Tensor
	for _, o := range m.Outputs {
		n, err := o.ByteSize()
		if err != nil {
			return nil, err
		}
		d, err := types.ParseDType(o.DType)
		if err != nil {
			return nil, err
		}
		got = append(got, tensor.Over(d, slices.Clone(o.Shape), add(n)[:n]))
	}
	for range m.Symbols {
		add(8)
	}
	if r := lib.Call(t, "lathe_"+m.Module+"_in", buffers...); r != 0 {
		return nil, fmt.Errorf("it returns %d", r)
	}
	sizes := []int{m.Workspace}
	for _, x := range slices.Concat(in, got) {
		sizes = append(sizes, len(x.Bytes()))
	}
	for i, n := range sizes {
		if slices.ContainsFunc(buffers[i][n:n+margin], func(b byte) bool { return b != canary }) {
			return nil, fmt.Errorf("it writes behind buffer %d", i)
		}
	}
	for i, o := range m.Outputs {
		for k, s := range o.Symbols {
			if s >= 0 {
				got[i].Shape[k] = int(binary.LittleEndian.Uint64(buffers[first+len(got)+s]))
			}
		}
		got[i] = tensor.Over(got[i].DType, got[i].Shape, got[i].Bytes()[:types.Count(got[i].Shape)*got[i].DType.Size()])
	}
	return got, nil
}

// TestSourceOperators compiles random uses of every operator to C and compares with the oracle.
func TestSourceOperators(t *testing.T) {
	t.Parallel()
	samples := 3
	if testing.Short() {
		samples = 1
	}
	var sources []string
	var cases []sourceCase
	for _, d := range ops.All {
		if !implemented(d) || d.Sample == nil {
			continue
		}
		for seed := range uint64(samples) {
			r := rand.New(rand.NewPCG(seed, 7))
			attrs, in := d.Sample(r)
			g := &graph.Graph{Name: "main"}
			c := sourceCase{use: fmt.Sprintf("seed %d: %s%v %+v", seed, d.Name, in, attrs)}
			var args []*graph.Value
			for i, ty := range in {
				c.in = append(c.in, random(r, ty))
				args = append(args, g.Input(fmt.Sprintf("x%d", i), ty))
			}
			n, err := g.Apply(d, attrs, args...)
			if err != nil {
				t.Fatal(err)
			}
			n.Origin = []string{d.Name}
			var want []*tensor.Tensor
			for i, y := range n.Out {
				y.Name = fmt.Sprintf("y%d", i)
				want = append(want, tensor.NewOf(y.Type))
				g.Outputs = append(g.Outputs, y)
			}
			if err := d.Eval(attrs, c.in, want); err != nil {
				t.Fatal(err)
			}
			c.check = func(got []*tensor.Tensor) error {
				for i := range want {
					diff, err := difference(actualResult(n, want, i), got[i])
					if err != nil {
						return fmt.Errorf("result %d: %w", i, err)
					}
					if !(diff <= tolerance(want[i].DType)) {
						return fmt.Errorf("result %d differs by %g", i, diff)
					}
				}
				return nil
			}
			res, text := sourceOf(t, g, fmt.Sprintf("m%d", len(cases)), 3)
			c.manifest = res.Contents.Manifest
			sources = append(sources, text)
			cases = append(cases, c)
		}
	}
	runSources(t, sources, cases)
}

// TestSourceDeterministic: the number of compiler threads does not change the files.
func TestSourceDeterministic(t *testing.T) {
	t.Parallel()
	var want string
	for _, workers := range []int{1, 2, 5} {
		g := graphtest.New(rand.New(rand.NewPCG(3, 4)))
		res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "c"), Level: 3, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, f := range res.Contents.Files {
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
		}
		if want == "" {
			want = b.String()
		}
		if b.String() != want {
			t.Errorf("%d workers give other files", workers)
		}
	}
}

// TestFormats: a target without a format has its own, and a format that is for another target is refused with what to do.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, format, want string }{
		{"c", "", "module.c"},
		{"c", "c", "module.c"},
		{"llvm", "", "module.tar"},
		{"llvm", "c", "output format c is for target c"},
		{"c", "so", "output format so does not exist for target"},
		{"c", "sse", "unknown output format"},
	} {
		g := graphtest.New(rand.New(rand.NewPCG(3, 4)))
		res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, c.target), Level: 3, Workers: 2, Format: c.format})
		got := fmt.Sprint(err)
		if err == nil {
			got = res.Output()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("target %s, format %q: %s, not %s", c.target, c.format, got, c.want)
		}
	}
	for _, code := range []string{"ll", "asm"} {
		g := graphtest.New(rand.New(rand.NewPCG(3, 4)))
		if _, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "c"), Code: []string{code}}); err == nil {
			t.Errorf("target c has code format %s", code)
		}
	}
}

// TestSourceNetworks compiles random small networks to C, without optimisation and with all, and compares with the oracle.
func TestSourceNetworks(t *testing.T) {
	t.Parallel()
	samples := uint64(12)
	if testing.Short() {
		samples = 3
	}
	var sources []string
	var cases []sourceCase
	for seed := range samples {
		for _, level := range []int{0, 3} {
			r := rand.New(rand.NewPCG(seed, 4))
			g := graphtest.New(r)
			c := sourceCase{use: fmt.Sprintf("seed %d at -O%d", seed, level), in: graphtest.Inputs(r, g)}
			want, err := grapheval.Eval(g, c.in)
			if err != nil {
				t.Fatal(err)
			}
			c.check = func(got []*tensor.Tensor) error {
				for i := range want {
					diff, err := difference(want[i], got[i])
					if err != nil {
						return fmt.Errorf("output %d: %w", i, err)
					}
					if !(diff <= networkTolerance) {
						return fmt.Errorf("output %d differs by %g", i, diff)
					}
				}
				return nil
			}
			res, text := sourceOf(t, g, fmt.Sprintf("m%d", len(cases)), level)
			c.manifest = res.Contents.Manifest
			sources = append(sources, text)
			cases = append(cases, c)
		}
	}
	runSources(t, sources, cases)
}
