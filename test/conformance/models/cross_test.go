package models

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/crosstest"
	"lathe/internal/testkit/realmodels"
	"lathe/runtime"
)

// crossTargets run under qemu-user: for each architecture the plainest processor and those with instructions that the
// code generator knows.
var crossTargets = []string{
	"llvm -mtriple=aarch64-linux-gnu",
	"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
	"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1",
	"llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7",
	"llvm -mtriple=riscv64-linux-gnu",
	"llvm -mtriple=riscv64-linux-gnu -mattr=+v",
	"llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b",
}

// largeTargets are those of crossTargets that run networks of more than largeModel bytes: an emulator takes a minute for
// some of them.
var largeTargets = []string{crossTargets[1], crossTargets[3], crossTargets[6]}

const largeModel = 2 << 20

// crossZoo are the benchmark networks that an emulator runs in some seconds each.
var crossZoo = []string{"squeezenet1_1", "mobilenet_v2", "shufflenet_v2_x1_0", "resnet18", "mobilenet_v2_int8"}

// TestDeployCrossNetworks compiles networks for other architectures, runs them under qemu-user, and compares the outputs
// with what is expected and with this machine's: to the bit where the network computes on integers.
func TestDeployCrossNetworks(t *testing.T) {
	if os.Getenv("LATHE_DEPLOY") == "" {
		t.Skip("takes minutes: 'make deploytest' runs it")
	}
	root := realmodels.Folder(t)
	var targets []*crossTarget
	programs := map[target.Arch]*crosstest.Program{}
	for _, text := range crossTargets {
		spec, err := target.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c := &crossTarget{text: text}
		if c.Target, err = spec.Resolve(nil); err != nil {
			t.Fatal(err)
		}
		if programs[c.Arch] == nil {
			if programs[c.Arch], err = crosstest.Build(c.ISA(), t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		c.program = programs[c.Arch]
		targets = append(targets, c)
	}
	for _, n := range networks {
		name, zoo := strings.CutPrefix(strings.TrimSuffix(n.model, ".onnx"), "zoo/")
		if zoo && !slices.Contains(crossZoo, name) || strings.HasPrefix(n.model, "onnx_backend/") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n.cross(t, root, targets)
		})
	}
}

// A crossTarget is a target and what runs code for it.
type crossTarget struct {
	*target.Target
	text    string
	program *crosstest.Program
}

// cross compiles, runs and compares a network for all targets.
func (n *network) cross(t *testing.T, root string, targets []*crossTarget) {
	file := n.file(t, root)
	model, err := lathe.Load(file, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sets, err := n.readSets(root, file, model)
	if err != nil {
		t.Fatal(err)
	}
	set := sets[0]
	shapes := map[string][]int{}
	for i, in := range model.Inputs() {
		shapes[in.Name] = set.inputs[i].Shape
	}
	m, err := runtime.Open(saved(t, file, shapes, "llvm", filepath.Join(t.TempDir(), "here.tar")), runtime.WithWorkers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := run(t, m, model, set)
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	large := st.Size() > largeModel || strings.HasPrefix(n.model, "zoo/")
	for _, c := range targets {
		if large && !slices.Contains(largeTargets, c.text) {
			continue
		}
		t.Run(strings.ReplaceAll(c.text, " ", ""), func(t *testing.T) {
			dir := t.TempDir()
			p, err := bundle.Open(saved(t, file, shapes, c.text, filepath.Join(dir, "there.tar")))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var inputs []*tensor.Tensor
			for _, in := range p.Manifest.Inputs {
				i := slices.IndexFunc(model.Inputs(), func(x lathe.Tensor) bool { return x.Name == in.Name })
				inputs = append(inputs, wrapped(t, set.inputs[i]))
			}
			r := c.program.On(c.Target, dir)
			defer r.Close()
			got, err := r.Run(&bundle.Contents{Manifest: p.Manifest, Library: p.Library, Params: p.Params}, inputs, 2)
			if errors.Is(err, crosstest.ErrEmulator) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, info := range m.Outputs() {
				y := runtime.Tensor{DType: got[i].DType.String(), Shape: got[i].Shape, Data: got[i].Bytes()}
				n.compare(t, "output "+info.Name, y, set.outputs[i])
				if !n.quantised {
					n.compare(t, "to this machine, output "+info.Name, y, want[i])
				} else if where := firstDifference([][]runtime.Tensor{{y}}, [][]runtime.Tensor{{want[i]}}); where != "" {
					t.Errorf("output %s has other bits than on this machine", info.Name)
				}
			}
		})
	}
}

// saved compiles a model for a target and returns the package's path.
func saved(t *testing.T, file string, shapes map[string][]int, tgt, pack string) string {
	t.Helper()
	m, err := lathe.Load(file, lathe.LoadOptions{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{Target: tgt, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(pack); err != nil {
		t.Fatal(err)
	}
	return pack
}
