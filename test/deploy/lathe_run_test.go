package deploy

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

const demo = root + "/examples/demo/digits.onnx"

// compileDemo writes the demo network, or another model, for a target.
func compileDemo(t *testing.T, target, path string, o lathe.CompileOptions) {
	t.Helper()
	compileModel(t, demo, target, path, o)
}

func compileModel(t *testing.T, model, target, path string, o lathe.CompileOptions) {
	t.Helper()
	m, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.Target = target
	p, err := lathe.Compile(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
}

// demoTensor is one of the arrays of the demo network: its input "data", or "logits", what PyTorch computes from it.
func demoTensor(t *testing.T, name string) npz.Array {
	t.Helper()
	arrays, err := npz.ReadFile(root + "/examples/demo/accept.npz")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(arrays, func(a npz.Array) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("accept.npz has no %s", name)
	}
	return arrays[i]
}

func floats(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// distance is the relative L2 distance of got from want.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var d, n float64
	for i := range want {
		e := float64(got[i]) - float64(want[i])
		d, n = d+e*e, n+float64(want[i])*float64(want[i])
	}
	return math.Sqrt(d / n)
}

// runHere is what the Go runtime computes with a package of the demo network.
func runHere(t *testing.T, path string) []byte {
	t.Helper()
	m, err := runtime.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := demoTensor(t, "data")
	if err := m.SetInput("data", runtime.Tensor{DType: in.DType, Shape: in.Shape, Data: in.Data}); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	out, err := m.Output(0)
	if err != nil {
		t.Fatal(err)
	}
	return out.Clone().Data
}

// lathe-run is small, and gives on every architecture what the network's makers computed. A program that is not for this
// machine runs in an emulator, with the C library of its architecture.
func TestDeployLatheRun(t *testing.T) {
	long(t)
	dir := t.TempDir()
	in := demoTensor(t, "data")
	inputs := filepath.Join(dir, "in.npz")
	f, err := os.Create(inputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := npz.Write(f, []npz.Array{in}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ arch, machine string }{{"amd64", "x86_64"}, {"arm64", "aarch64"}, {"riscv64", "riscv64"}} {
		t.Run(m.arch, func(t *testing.T) {
			var emulator []string
			if m.arch != goruntime.GOARCH {
				emulator = []string{tool(t, "qemu-"+m.machine+"-static"), "-L", "/usr/" + m.machine + "-linux-gnu"}
			}
			program := filepath.Join(root, "build", "lathe-run-"+m.arch)
			output(t, exec.Command(tool(t, "make"), "-C", root, "build/lathe-run-"+m.arch))
			st, err := os.Stat(program)
			if err != nil {
				t.Fatal(err)
			}
			if st.Size() >= 10e6 {
				t.Errorf("lathe-run takes %d bytes", st.Size())
			}
			pkg, to := filepath.Join(dir, m.arch+".tar"), filepath.Join(dir, m.arch+".npz")
			compileDemo(t, "llvm -mtriple="+m.machine+"-linux-gnu", pkg, lathe.CompileOptions{})
			args := append(emulator, program, "--inputs", inputs, "--outputs", to, "--print-time", "--profile", pkg)
			printed := output(t, exec.Command(args[0], args[1:]...))
			for _, want := range []string{"Execution time summary:", "the machine's peak is unknown", "fused_nn_dense_add"} {
				if !strings.Contains(printed, want) {
					t.Errorf("%q is missing in\n%s", want, printed)
				}
			}
			got, err := npz.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if d := distance(floats(got[0].Data), floats(demoTensor(t, "logits").Data)); !(d <= 1e-4) {
				t.Errorf("relative distance from the expected logits %g", d)
			}
			if m.arch == goruntime.GOARCH && string(got[0].Data) != string(runHere(t, pkg)) {
				t.Error("other bits than the runtime's in this process")
			}
		})
	}
}
