package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// A wasmJob is a network to be run by Node.js, and what came of it.
type wasmJob struct {
	Loader  string      `json:"loader"`
	Inputs  []wasmInput `json:"inputs"`
	Outputs []string    `json:"outputs"`

	what  string
	types []types.DType // of the outputs
	want  []*tensor.Tensor
	got   []*tensor.Tensor
	err   error
}

type wasmInput struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	File  string `json:"file"`
}

// outside is the type that a tensor has in JavaScript, and its bytes there.
func outside(x *tensor.Tensor) *tensor.Tensor {
	if x.DType != types.F16 && x.DType != types.BF16 {
		return x
	}
	y := tensor.New(types.F32, x.Shape...)
	for i := range x.Len() {
		y.SetFloat(i, x.Float(i))
	}
	return y
}

// wasmTarget is the target of the preset with further features, such as ",+relaxed-simd".
func wasmTarget(t *testing.T, features string) *target.Target {
	t.Helper()
	spec, err := target.Parse("llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128" + features)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// newWasmJob compiles g, which it changes, to a module in a folder of its own.
func newWasmJob(t *testing.T, dir, what string, g *graph.Graph, tgt *target.Target, in []*tensor.Tensor) (*wasmJob, error) {
	t.Helper()
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: tgt, Level: 3, Workers: 2, Format: "wasm"})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := res.Write(t.Context(), filepath.Join(dir, "net.wasm")); err != nil {
		return nil, err
	}
	j := &wasmJob{Loader: filepath.Join(dir, "net.mjs"), what: what}
	for i, info := range res.Contents.Manifest.Inputs {
		file := filepath.Join(dir, fmt.Sprintf("in%d", i))
		if err := os.WriteFile(file, outside(in[i]).Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		j.Inputs = append(j.Inputs, wasmInput{info.Name, info.DType, file})
	}
	for i, info := range res.Contents.Manifest.Outputs {
		d, err := types.ParseDType(info.DType)
		if err != nil {
			t.Fatal(err)
		}
		j.Outputs, j.types = append(j.Outputs, filepath.Join(dir, fmt.Sprintf("out%d", i))), append(j.types, d)
	}
	return j, nil
}

// runWasm runs the jobs in one process of Node.js and reads their outputs, those of 16-bit floats as float32.
func runWasm(t *testing.T, jobs []*wasmJob, flags ...string) {
	t.Helper()
	list, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jobs.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool(t, "node"), append(flags, "testdata/run_wasm.mjs", file)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var answers []struct {
		Error  string
		Shapes [][]int
	}
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(jobs) {
		t.Fatalf("node answers %d of %d jobs, %v", len(answers), len(jobs), err)
	}
	for i, a := range answers {
		j := jobs[i]
		if a.Error != "" {
			j.err = fmt.Errorf("%s", a.Error)
			continue
		}
		for k, shape := range a.Shapes {
			b, err := os.ReadFile(j.Outputs[k])
			if err != nil {
				t.Fatal(err)
			}
			d := j.types[k]
			if d == types.F16 || d == types.BF16 {
				d = types.F32
			}
			y, err := tensor.Wrap(d, shape, b)
			if err != nil {
				j.err = fmt.Errorf("output %d: %w", k, err)
				break
			}
			j.got = append(j.got, y)
		}
	}
}

// check compares what a job computed with what it should have.
func (j *wasmJob) check(t *testing.T, tolerance float64) {
	t.Helper()
	if j.err != nil {
		t.Errorf("%s: %v", j.what, j.err)
		return
	}
	for i, want := range j.want {
		if err := near(outside(want), j.got[i], tolerance); err != nil {
			t.Errorf("%s: output %d: %v", j.what, i, err)
		}
	}
}

// Random uses of every operator give the reference's results, with and without SIMD and with fused multiply-adds.
func TestDeployWasmOperators(t *testing.T) {
	long(t)
	node := tool(t, "node")
	for _, v := range []struct {
		name, features string
		flags          []string
		samples        uint64
	}{
		{"simd", "", nil, 5},
		{"scalar", ",-simd128", nil, 1},
		{"relaxed", ",+relaxed-simd", []string{"--experimental-wasm-relaxed-simd"}, 2},
	} {
		t.Run(v.name, func(t *testing.T) {
			if len(v.flags) > 0 && exec.Command(node, append(v.flags, "-e", "0")...).Run() != nil {
				v.flags = nil // engines that have it without asking
			}
			tgt := wasmTarget(t, v.features)
			var jobs []*wasmJob
			for _, d := range ops.All {
				if d.Sample == nil {
					continue
				}
				for seed := range v.samples {
					r := rand.New(rand.NewPCG(seed, 7))
					attrs, in := d.Sample(r)
					g := &graph.Graph{Name: "main"}
					var values []*tensor.Tensor
					var args []*graph.Value
					for i, ty := range in {
						values = append(values, random(r, ty))
						args = append(args, g.Input(fmt.Sprintf("x%d", i), ty))
					}
					n, err := g.Apply(d, attrs, args...)
					if err != nil {
						t.Fatalf("%s: %v", d.Name, err)
					}
					n.Origin = []string{d.Name}
					var want []*tensor.Tensor
					for i, y := range n.Out {
						y.Name = fmt.Sprintf("y%d", i)
						want = append(want, tensor.NewOf(y.Type))
						g.Outputs = append(g.Outputs, y)
					}
					if err := d.Eval(attrs, values, want); err != nil {
						t.Fatalf("%s: %v", d.Name, err)
					}
					dynamic := len(ops.DynamicResults(n.Op, n.Attrs)) > 0
					what := fmt.Sprintf("seed %d: %s%v %+v", seed, d.Name, in, attrs)
					j, err := newWasmJob(t, filepath.Join(t.TempDir(), d.Name), what, g, tgt, values)
					if err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					if dynamic { // compared up to its actual extent by the driver's tests
						continue
					}
					j.want = want
					jobs = append(jobs, j)
				}
			}
			runWasm(t, jobs, v.flags...)
			for _, j := range jobs {
				j.check(t, 1e-5)
			}
		})
	}
}

// wasmShapes are shapes of inputs where 1 is too small for an open dimension.
var wasmShapes = map[string]map[string][]int{"silero_vad_v5_16k_op15.onnx": {"input": {1, 576}}}

// quantised matches the models that compute on bytes.
var quantised = regexp.MustCompile(`int8|qdq|qoperator|/q[a-z]+_1/`)

// wasmNetwork compiles a model for this machine and for WebAssembly, and runs it here.
func wasmNetwork(t *testing.T, dir, path string, seed uint64) (*wasmJob, error) {
	t.Helper()
	graphOf := func() (*graph.Graph, error) {
		m, err := onnx.ReadFile(path)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { m.Close() })
		return onnx.Import(m, onnx.Options{Shapes: wasmShapes[filepath.Base(path)]})
	}
	g, err := graphOf()
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 11))
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		x := random(r, v.Type)
		if !v.Type.DType.IsFloat() { // indices of tables, lengths, pixels
			for i := range x.Len() {
				x.SetInt(i, int64(r.IntN(2)))
			}
		}
		in = append(in, x)
	}
	spec, err := target.Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2")
	if err != nil {
		t.Fatal(err)
	}
	here, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := compile.Compile(context.Background(), g, compile.Options{Target: here, Level: 3, Workers: 2})
	if err != nil {
		return nil, err
	}
	want, err := verify.Execute(res, in, 1)
	if err != nil {
		return nil, err
	}
	if g, err = graphOf(); err != nil {
		return nil, err
	}
	j, err := newWasmJob(t, dir, filepath.Base(path), g, wasmTarget(t, ""), in)
	if err == nil {
		j.want = want
	}
	return j, err
}

// The demo's network gives in Node.js what it gives here.
func TestWasmDemo(t *testing.T) {
	tool(t, "node")
	j, err := wasmNetwork(t, t.TempDir(), root+"/examples/demo/digits.onnx", 1)
	if err != nil {
		t.Fatal(err)
	}
	runWasm(t, []*wasmJob{j})
	j.check(t, 1e-5)
}

// Real networks give in Node.js what they give here, those that compute on bytes to the bit.
func TestDeployWasmNetworks(t *testing.T) {
	long(t)
	var paths []string
	if models := os.Getenv("LATHE_MODELS"); models != "" {
		err := filepath.WalkDir(filepath.Join(models, "onnx"), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".onnx") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if zoo := os.Getenv("LATHE_ZOO"); zoo != "" {
		for _, name := range []string{"squeezenet1_1", "mobilenet_v2", "shufflenet_v2_x1_0", "resnet18", "mobilenet_v2_int8"} {
			paths = append(paths, filepath.Join(zoo, name+".onnx"))
		}
	}
	if len(paths) == 0 {
		t.Skip("neither LATHE_MODELS nor LATHE_ZOO is set")
	}
	for i, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			j, err := wasmNetwork(t, t.TempDir(), path, uint64(i))
			if err != nil && strings.Contains(err.Error(), "not supported") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			runWasm(t, []*wasmJob{j})
			tolerance := 1e-4
			if quantised.MatchString(path) {
				tolerance = 0
			}
			j.check(t, tolerance)
		})
	}
}

// TestDeployWasmLoops runs random networks with loops.
func TestDeployWasmLoops(t *testing.T) {
	long(t)
	var jobs []*wasmJob
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 65))
		g := graphtest.Loops(r)
		in := graphtest.Inputs(r, g)
		want, err := evaltest.Actual(g, in)
		if err != nil {
			t.Fatal(err)
		}
		j, err := newWasmJob(t, t.TempDir(), fmt.Sprintf("loops%d", seed), g, wasmTarget(t, ""), in)
		if err != nil {
			t.Fatal(err)
		}
		j.want = want
		jobs = append(jobs, j)
	}
	runWasm(t, jobs)
	for _, j := range jobs {
		j.check(t, 1e-4)
	}
}

// The loader reports wrong use in words, converts 16-bit floats, and gives actual shapes.
func TestDeployWasmLoader(t *testing.T) {
	long(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"half":    "graph main(%x: float16[2,3]) {\n%y = nn.relu(%x)\nreturn %y\n}",
		"brain":   "graph main(%x: bfloat16[6]) {\n%y = nn.relu(%x)\nreturn %y\n}",
		"mixed":   "graph main(%a: int64[3], %b: bool[3], %c: uint8[3]) {\n%x = add(%a, %a)\n%y = logical_not(%b)\n%z = add(%c, %c)\nreturn %x, %y, %z\n}",
		"scalar":  "graph main(%x: float32[]) {\n%y = add(%x, %x)\nreturn %y\n}",
		"it's #1": "graph main(%x: float32[4]) {\n%y = nn.relu(%x)\nreturn %y\n}",
	} {
		g, err := graph.Parse(text, ops.Lookup, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		res, err := compile.Compile(context.Background(), g, compile.Options{Target: wasmTarget(t, ""), Level: 3, Workers: 1, Format: "wasm"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := res.Write(t.Context(), filepath.Join(dir, name+".wasm")); err != nil {
			t.Fatal(err)
		}
	}
	output(t, exec.Command(tool(t, "node"), "testdata/loader.test.mjs", dir))
}
