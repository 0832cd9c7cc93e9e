package lathe_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// An mxnetWriter writes a network in MXNet's form: nodes as JSON, weights in a file beside it.
type mxnetWriter struct {
	*rand.Rand
	nodes []map[string]any
	names []string
	bytes []byte
}

func (w *mxnetWriter) node(op, name string, attrs map[string]string, in ...int) int {
	inputs := [][3]int{}
	for _, i := range in {
		inputs = append(inputs, [3]int{i, 0, 0})
	}
	w.nodes = append(w.nodes, map[string]any{"op": op, "name": name, "attrs": attrs, "inputs": inputs})
	return len(w.nodes) - 1
}

// weight adds an array of normal numbers.
func (w *mxnetWriter) weight(name string, mean, deviation float64, shape ...int) int {
	kind := "arg:"
	if strings.Contains(name, "running") {
		kind = "aux:"
	}
	w.names = append(w.names, kind+name)
	b := binary.LittleEndian.AppendUint32(w.bytes, 0xF993FAC9)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(shape)))
	n := 1
	for _, d := range shape {
		b, n = binary.LittleEndian.AppendUint64(b, uint64(d)), n*d
	}
	for range 3 { // CPU 0, float32
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	b[len(b)-12] = 1
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(mean+deviation*w.NormFloat64())))
	}
	w.bytes = b
	return w.node("null", name, nil)
}

func (w *mxnetWriter) conv(name string, x, from, to, kernel, stride int) int {
	each := func(n int) string { return fmt.Sprintf("(%d, %d)", n, n) }
	weight := w.weight(name+"_weight", 0, math.Sqrt(2/float64(from*kernel*kernel)), to, from, kernel, kernel)
	x = w.node("Convolution", name, map[string]string{"kernel": each(kernel), "stride": each(stride), "pad": each(kernel / 2), "num_filter": strconv.Itoa(to), "no_bias": "True"}, x, weight)
	bn := name + "_bn"
	return w.node("BatchNorm", bn, map[string]string{"eps": "1e-05", "fix_gamma": "False"}, x,
		w.weight(bn+"_gamma", 1, 0.1, to), w.weight(bn+"_beta", 0, 0.1, to), w.weight(bn+"_running_mean", 0, 0.1, to), w.weight(bn+"_running_var", 1, 0.05, to))
}

func (w *mxnetWriter) relu(name string, x int) int {
	return w.node("Activation", name, map[string]string{"act_type": "relu"}, x)
}

// resnet18 writes version 1 of the network with random weights, as MXNet's model zoo spells it.
func resnet18(t *testing.T, dir string) string {
	w := &mxnetWriter{Rand: rand.New(rand.NewPCG(18, 1))}
	x := w.relu("relu0", w.conv("conv0", w.node("null", "data", nil), 3, 64, 7, 2))
	x = w.node("Pooling", "pool0", map[string]string{"kernel": "(3, 3)", "stride": "(2, 2)", "pad": "(1, 1)", "pool_type": "max"}, x)
	from := 64
	for stage := range 4 {
		to := 64 << stage
		for block := range 2 {
			name, stride, short := fmt.Sprintf("stage%d_%d", stage+1, block), 1, x
			if stage > 0 && block == 0 {
				stride = 2
				short = w.conv(name+"_down", x, from, to, 1, 2)
			}
			y := w.relu(name+"_relu0", w.conv(name+"_conv0", x, from, to, 3, stride))
			y = w.conv(name+"_conv1", y, to, to, 3, 1)
			x, from = w.relu(name+"_relu1", w.node("elemwise_add", name+"_plus", nil, y, short)), to
		}
	}
	x = w.node("Pooling", "pool1", map[string]string{"kernel": "(1, 1)", "pool_type": "avg", "global_pool": "True"}, x)
	x = w.node("Flatten", "flatten0", nil, x)
	x = w.node("FullyConnected", "dense0", map[string]string{"num_hidden": "10"}, x, w.weight("dense0_weight", 0, 0.05, 10, 512), w.weight("dense0_bias", 0, 0.1, 10))
	text, err := json.Marshal(map[string]any{"nodes": w.nodes, "heads": [][3]int{{x, 0, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	b := binary.LittleEndian.AppendUint64(nil, 0x112)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = append(binary.LittleEndian.AppendUint64(b, uint64(len(w.names))), w.bytes...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(w.names)))
	for _, name := range w.names {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(name))), name...)
	}
	path := filepath.Join(dir, "resnet18-symbol.json")
	for file, data := range map[string][]byte{path: text, filepath.Join(dir, "resnet18-0000.params"): b} {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// pictures writes samples of smooth colours, and returns the first as a tensor.
func pictures(t *testing.T, path string, n, size int) runtime.Tensor {
	r := rand.New(rand.NewPCG(3, 3))
	data := make([]byte, 0, 4*n*3*size*size)
	for range 3 * n {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		for y := range size {
			for x := range size {
				v := a + b*math.Sin(float64(x)/7+c) + 0.3*r.NormFloat64()*math.Cos(float64(y)/5)
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
			}
		}
	}
	var b strings.Builder
	if err := npz.Write(&b, []npz.Array{{Name: "data", DType: "float32", Shape: []int{n, 3, size, size}, Data: data}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return runtime.Tensor{DType: "float32", Shape: []int{1, 3, size, size}, Data: data[:4*3*size*size]}
}

// TestDPUResNet18 takes a ResNet-18 of MXNet to the DPU of a ZCU104: all but the head is one region; calibrated on this machine, the
// package computes nearly what the network does, also from the table, and without a table what the network does; built for the board with the table, it computes the same there.
func TestDPUResNet18(t *testing.T) {
	t.Parallel()
	const size = 64
	dir := t.TempDir()
	input := pictures(t, filepath.Join(dir, "samples.npz"), 6, size)
	m, err := lathe.Load(resnet18(t, dir), lathe.LoadOptions{Shapes: map[string][]int{"data": {1, 3, size, size}}})
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name, target string, c lathe.Calibration) *lathe.Package {
		p, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: target, Calibration: c})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	run := func(name string) []float32 {
		r, err := runtime.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.SetInputIndex(0, input); err != nil {
			t.Fatal(err)
		}
		if err := r.Run(); err != nil {
			t.Fatal(err)
		}
		if n := len(r.Outputs()); n != 1 {
			t.Fatalf("%d outputs", n)
		}
		y, err := r.Output(0)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float32, len(y.Data)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(y.Data[4*i:]))
		}
		return v
	}
	const target = "DPUCZDX8G-zcu104, llvm"
	table := filepath.Join(dir, "table.json")
	compile("float.tar", "llvm", lathe.Calibration{})
	open := compile("open.tar", target, lathe.Calibration{})
	compile("fixed.tar", "DPUCZDX8G-zcu104 -export_runtime_module="+table+", llvm", lathe.Calibration{Samples: filepath.Join(dir, "samples.npz")})
	compile("again.tar", "DPUCZDX8G-zcu104 -load_runtime_module="+table+", llvm", lathe.Calibration{})
	regions, left := map[string]bool{}, []string{}
	for _, o := range open.Offloads() {
		if o.Generator != "" {
			regions[o.Symbol] = true
		} else {
			left = append(left, o.Operator)
		}
	}
	slices.Sort(left)
	if len(regions) != 1 || !slices.Equal(left, []string{"add", "nn.dense", "reshape"}) {
		t.Errorf("%d regions, and %v on the CPU", len(regions), left)
	}
	want := run("float.tar")
	if d := distance(run("open.tar"), want); d > 1e-4 {
		t.Errorf("not calibrated: the distance is %g", d)
	}
	got := run("fixed.tar")
	// Twenty layers of random weights, in steps that are powers of two, one for a tensor: about 20 dB are left.
	if d := distance(got, want); d > 0.15 || d == 0 {
		t.Errorf("calibrated: the distance is %g", d)
	}
	if !slices.Equal(run("again.tar"), got) {
		t.Error("the table gives another package")
	}
	lib := compile("deploy_lib.so", "DPUCZDX8G-zcu104 -load_runtime_module="+table+", llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53", lathe.Calibration{})
	if info := lib.Info(); len(info.Taps) > 0 || !strings.HasPrefix(info.Target.Triple, "aarch64") {
		t.Errorf("for the board: %s, with %d tensors to watch", info.Target.Triple, len(info.Taps))
	}
	if d := distance(onBoard(t, dir, "deploy_lib.so", input), got); d > 1e-5 { // the head is in float32
		t.Errorf("the board's distance from this machine is %g", d)
	}
}

// onBoard runs a package for AArch64 by lathe-run in an emulator, and returns its first output.
func onBoard(t *testing.T, dir, name string, input runtime.Tensor) []float32 {
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skipf("the board's part is left out: %v", err)
	}
	program, in, out := filepath.Join(dir, "lathe-run"), filepath.Join(dir, "in.npz"), filepath.Join(dir, "out.npz")
	build := exec.Command("go", "build", "-o", program, "./cmd/lathe-run")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var b bytes.Buffer
	if err := npz.Write(&b, []npz.Array{{Name: "data", DType: input.DType, Shape: input.Shape, Data: input.Data}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(qemu, "-L", "/usr/aarch64-linux-gnu", program, "--inputs", in, "--outputs", out, filepath.Join(dir, name)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	list, err := npz.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, len(list[0].Data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(list[0].Data[4*i:]))
	}
	return v
}

// distance is that of x from y, relative to y.
func distance(x, y []float32) float64 {
	var off, all float64
	for i := range y {
		off += (float64(x[i]) - float64(y[i])) * (float64(x[i]) - float64(y[i]))
		all += float64(y[i]) * float64(y[i])
	}
	return math.Sqrt(off / all)
}
