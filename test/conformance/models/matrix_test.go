package models

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/cpu"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/amxtest"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/crosstest"
)

// TestDeployMatrixNetworks compiles the quantised networks of LATHE_ZOO for registers of matrices, runs them in a process that emulates
// the instructions, and holds all outputs to those of dot products: to the bit, as both add the same integers.
func TestDeployMatrixNetworks(t *testing.T) {
	if os.Getenv("LATHE_DEPLOY") == "" {
		t.Skip("takes minutes: 'make deploytest' runs it")
	}
	zoo := os.Getenv("LATHE_ZOO")
	if zoo == "" {
		t.Skip("LATHE_ZOO names no folder of networks")
	}
	files, err := filepath.Glob(filepath.Join(zoo, "*_int8.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("LATHE_ZOO=%s has no quantised networks (scripts/fill-zoo.sh makes them): %v", zoo, err)
	}
	const dots = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -mattr=+avx512vnni"
	spec, err := target.Parse(dots)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	if m.Arch != tgt.Arch || m.Missing(tgt.Features) != nil {
		t.Skip("this machine lacks AVX-512 or its dot products")
	}
	program, err := crosstest.BuildHere(cctest.Compiler(t), amxtest.Build(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	without := 0 // networks, such as of one row, of which tiles would be empty
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			model, err := lathe.Load(file, lathe.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			shapes, inputs := map[string][]int{}, map[string]*tensor.Tensor{}
			for _, in := range model.Inputs() {
				x, err := readArray(strings.TrimSuffix(file, ".onnx") + "." + in.Name + ".npy")
				if err != nil {
					t.Fatal(err)
				}
				shapes[in.Name], inputs[in.Name] = x.Shape, wrapped(t, x)
			}
			products := 0
			outputs := func(text string) []*tensor.Tensor {
				dir := t.TempDir()
				p, err := bundle.Open(saved(t, file, shapes, text, filepath.Join(dir, "there.tar")))
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				products = 0
				for _, s := range p.Manifest.Steps {
					if s.Rule == "matrix" {
						products++
					}
				}
				var list []*tensor.Tensor
				for _, in := range p.Manifest.Inputs {
					list = append(list, inputs[in.Name])
				}
				r := program.On(tgt, dir)
				defer r.Close()
				got, err := r.Run(&bundle.Contents{Manifest: p.Manifest, Library: p.Library, Params: p.Params}, list, 2)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			want := outputs(dots)
			got := outputs(dots + ",+amx-int8")
			t.Logf("%d steps by registers of matrices", products)
			if products == 0 {
				without++
			}
			for i := range want {
				if !bytes.Equal(want[i].Bytes(), got[i].Bytes()) {
					t.Errorf("output %d has other bits", i)
				}
			}
		})
	}
	if 5*without > len(files) {
		t.Errorf("%d of %d networks compute no product by registers of matrices", without, len(files))
	}
}
