package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend/onnx"
	"lathe/internal/tensor"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
)

// TestConformanceCommandLine does by hand, with the commands that a user types, what the lists say: every 25th case of them,
// or those that LATHE_CASES selects.
func TestConformanceCommandLine(t *testing.T) {
	root := realmodels.Folder(t, "onnx_backend")
	bin := filepath.Join(t.TempDir(), "lathe")
	if out, err := exec.Command("go", "build", "-o", bin, "lathe/cmd/lathe").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	only := os.Getenv("LATHE_CASES")
	for i, c := range Passing() {
		if only == "" && i%25 != 0 || only != "" && !regexp.MustCompile(only).MatchString(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := byHand(bin, filepath.Join(root, c.Name), t.TempDir(), c.Fixed); err != nil {
				t.Error(err)
			}
		})
	}
}

// byHand compiles and runs a case with its first data set.
func byHand(bin, dir, work string, fixed []string) error {
	model, set := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "test_data_set_0")
	m, err := onnx.ReadFile(model)
	if err != nil {
		return err
	}
	defer m.Close()
	pkg, in, out := filepath.Join(work, "m.tar"), filepath.Join(work, "in.npz"), filepath.Join(work, "out.npz")
	compile, run := []string{"compile", "-o", pkg}, []string{"run", "-o", out}
	var arrays []npz.Array
	var shapes []string
	for i, v := range m.Graph.RealInputs() {
		file := filepath.Join(set, fmt.Sprintf("input_%d.pb", i))
		if slices.Contains(fixed, v.Name) {
			compile = append(compile, "--fix", v.Name+"="+file)
			continue
		}
		x, err := readTensor(file)
		if err != nil {
			return err
		}
		x = numpys(x)
		arrays = append(arrays, npz.Array{Name: v.Name, DType: x.DType.String(), Shape: x.Shape, Data: x.Bytes()})
		if !v.Ranked || slices.ContainsFunc(v.Dims, func(d onnx.Dim) bool { return !d.Known() }) {
			shapes = append(shapes, v.Name+":"+strings.ReplaceAll(fmt.Sprint(append([]int{}, x.Shape...)), " ", ","))
		}
	}
	if len(shapes) > 0 {
		compile = append(compile, "--input-shapes", strings.Join(shapes, " "))
	}
	if len(arrays) > 0 {
		run = append(run, "-i", in)
		f, err := os.Create(in)
		if err != nil {
			return err
		}
		if err := npz.Write(f, arrays); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	for _, args := range [][]string{append(compile, model), append(run, pkg)} {
		if text, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("lathe %s: %w\n%s", strings.Join(args, " "), err, text)
		}
	}
	got, err := npz.ReadFile(out)
	if err != nil {
		return err
	}
	for i, a := range got {
		want, err := readTensor(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return err
		}
		d, err := types.ParseDType(a.DType)
		if err != nil {
			return err
		}
		x, err := tensor.Wrap(d, a.Shape, a.Data)
		if err != nil {
			return err
		}
		if err := sameTensor(x, numpys(want), noise[filepath.Base(dir)]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// numpys is t as numpy can hold it: numpy has no bfloat16 and no integers of 4 bits, which lathe run takes and gives as
// float32, int8 and uint8.
func numpys(t *tensor.Tensor) *tensor.Tensor {
	wider, lacks := map[types.DType]types.DType{types.BF16: types.F32, types.I4: types.I8, types.U4: types.U8}[t.DType]
	if !lacks {
		return t
	}
	wide, _ := t.Convert(wider)
	return wide
}
