package models

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe"
	"lathe/internal/tensor"
	"lathe/internal/testkit/modeltest"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/types"
	"lathe/runtime"
)

// Greatest relative L2 distances from the expected outputs. Quantised networks must name the same top one besides.
const (
	floatTolerance     = 1e-4
	quantisedTolerance = 5e-2
)

// workerCounts must give the same bits.
var workerCounts = []int{1, 2, 3}

// childMark in the environment names the network that the test compares; without it, it starts a child for each: a fault
// in generated code is then the failure of one network and not the end of the test.
const childMark = "LATHE_CONFORMANCE_NETWORK"

// childLimit is more than any network takes on a busy machine.
const childLimit = 15 * time.Minute

// TestConformanceNetworks compiles, runs and compares every network. Each figure is in the log.
func TestConformanceNetworks(t *testing.T) {
	root := realmodels.Folder(t)
	if name := os.Getenv(childMark); name != "" {
		i := slices.IndexFunc(networks, func(n network) bool { return n.model == name })
		if i < 0 {
			t.Fatalf("%s=%s is not in the table", childMark, name)
		}
		networks[i].check(t, root)
		return
	}
	for _, n := range networks {
		t.Run(n.model, func(t *testing.T) {
			n.file(t, root) // skips
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe, "-test.run", "^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v", "-test.timeout", childLimit.String())
			cmd.Env = append(os.Environ(), childMark+"="+n.model)
			out, err := cmd.CombinedOutput()
			if t.Log(essence(string(out))); err != nil {
				t.Error(err)
			}
		})
	}
}

// essence leaves out what the testing package frames a log with, and what follows the goroutine of a crash.
func essence(log string) string {
	log, _, _ = strings.Cut(log, "\n\ngoroutine ")
	var lines []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" && line != "PASS" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// check compiles, runs and compares a network.
func (n *network) check(t *testing.T, root string) {
	file := n.file(t, root)
	open, err := lathe.Load(file, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := n.readSets(root, file, open)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int{}
	for i, in := range open.Inputs() {
		shapes[in.Name] = sets[0].inputs[i].Shape
	}
	pack := filepath.Join(t.TempDir(), "model.tar")
	save(t, file, shapes, pack, 0)
	var first [][]runtime.Tensor
	for _, workers := range workerCounts {
		got := n.outputs(t, open, sets, pack, workers)
		if first == nil {
			first = got
		}
		if where := firstDifference(first, got); where != "" {
			t.Errorf("%d workers: %s has other bits than with %d", workers, where, workerCounts[0])
		}
	}
}

// TestConformanceTableIsWhole finds model files that nobody compares.
func TestConformanceTableIsWhole(t *testing.T) {
	root := realmodels.Folder(t)
	for _, folder := range []string{"onnx", "onnx_backend/light", "zoo"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".onnx") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if !slices.ContainsFunc(networks, func(n network) bool { return n.model == filepath.ToSlash(name) }) {
				t.Errorf("%s is not in the table of networks", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// file returns where the model is, with its weights.
func (n *network) file(t *testing.T, root string) string {
	name, inZoo := strings.CutPrefix(n.model, "zoo/")
	if !inZoo {
		return filepath.Join(root, n.model)
	}
	dir := os.Getenv("LATHE_ZOO")
	if dir == "" {
		t.Skip("LATHE_ZOO is unset: no weights of benchmark networks; scripts/fill-zoo.sh makes them")
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("LATHE_ZOO: %v", err)
	}
	return file
}

// save compiles a model for this machine with a number of compiler threads (0: the default).
func save(t *testing.T, model string, shapes map[string][]int, pack string, threads int) {
	t.Helper()
	m, err := lathe.Load(model, lathe.LoadOptions{Shapes: shapes, Notes: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{Target: "llvm", Workers: threads})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(pack); err != nil {
		t.Fatal(err)
	}
}

// outputs runs the package on each data set, twice, and returns copies of the outputs. With one worker it compares them
// with what is expected.
func (n *network) outputs(t *testing.T, model *lathe.Model, sets []*dataSet, pack string, workers int) [][]runtime.Tensor {
	t.Helper()
	m, err := runtime.Open(pack, runtime.WithWorkers(workers))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var all [][]runtime.Tensor
	for k, d := range sets {
		got := run(t, m, model, d)
		if where := firstDifference([][]runtime.Tensor{got}, [][]runtime.Tensor{run(t, m, model, d)}); where != "" {
			t.Errorf("%d workers: %s has other bits in the second run", workers, where)
		}
		for i, info := range m.Outputs() {
			if workers == workerCounts[0] {
				n.compare(t, fmt.Sprintf("%s, output %q", filepath.Base(n.data[k]), info.Name), got[i], d.outputs[i])
			}
		}
		all = append(all, got)
	}
	return all
}

// run sets the inputs that the module has, runs it and returns copies of the outputs.
func run(t *testing.T, m *runtime.Module, model *lathe.Model, d *dataSet) []runtime.Tensor {
	t.Helper()
	for i, in := range model.Inputs() {
		if !slices.ContainsFunc(m.Inputs(), func(x runtime.TensorInfo) bool { return x.Name == in.Name }) {
			continue
		}
		if err := m.SetInput(in.Name, d.inputs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	var list []runtime.Tensor
	for i := range m.Outputs() {
		out, err := m.Output(i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, out.Clone())
	}
	return list
}

// firstDifference names the first tensor that differs in any bit.
func firstDifference(a, b [][]runtime.Tensor) string {
	for set := range a {
		for i, x := range a[set] {
			if y := b[set][i]; x.DType != y.DType || !slices.Equal(x.Shape, y.Shape) || !bytes.Equal(x.Data, y.Data) {
				return fmt.Sprintf("output %d of data set %d", i, set)
			}
		}
	}
	return ""
}

// compare logs how far an output is from the expected one, and complains when it is too far.
func (n *network) compare(t *testing.T, what string, got, want runtime.Tensor) {
	t.Helper()
	x, y := wrapped(t, got), wrapped(t, want)
	most := modeltest.Distance{Relative: floatTolerance}
	if n.quantised {
		most.Relative = quantisedTolerance
	}
	far, err := modeltest.Compare(x, y, most)
	t.Logf("%s: %s", what, far)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	// Where two expected values are equal, either is the top one.
	if n.quantised && !n.rows && y.DType.IsFloat() && y.Float(top(x)) != y.Float(top(y)) {
		t.Errorf("%s: the top one is %d instead of %d", what, top(x), top(y))
	}
}

// top is the place of the greatest value.
func top(x *tensor.Tensor) int {
	best := 0
	for i := range x.Len() {
		if x.Float(i) > x.Float(best) {
			best = i
		}
	}
	return best
}

func wrapped(t *testing.T, x runtime.Tensor) *tensor.Tensor {
	t.Helper()
	d, err := types.ParseDType(x.DType)
	if err != nil {
		t.Fatal(err)
	}
	y, err := tensor.Wrap(d, x.Shape, x.Data)
	if err != nil {
		t.Fatal(err)
	}
	return y
}
