package onnx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/realmodels"
)

// supportedList names ONNX's own cases that import and compute right, one in a line; -update appends what has become right. A line "name fixed: a, b" is a case whose inputs a and b, which
// decide shapes, are fixed to the values of its data set, since the model computes shapes from them.
const supportedList = "testdata/supported.txt"

func readSupported(t *testing.T) map[string]string {
	f, err := os.Open(supportedList)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := map[string]string{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		name, fixed, _ := strings.Cut(s.Text(), " fixed: ")
		list[name] = fixed
	}
	return list
}

// TestConformanceImportCases runs every case of ONNX's backend tests on the oracle. Those listed must be right; every
// other must end in an error that says what is not supported.
func TestConformanceImportCases(t *testing.T) {
	root := realmodels.Folder(t, "onnx_backend")
	supported := readSupported(t)
	seen, grown := map[string]bool{}, []string{}
	for _, group := range []string{"node", "simple", "pytorch-converted", "pytorch-operator"} {
		entries, err := os.ReadDir(filepath.Join(root, group))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := group + "/" + entry.Name()
			if only := os.Getenv("LATHE_CASE"); only != "" && !strings.Contains(name, only) {
				continue
			}
			fixed, listed := supported[name]
			seen[name] = true
			result := runLimited(filepath.Join(root, name))
			switch {
			case result.err == nil && !listed:
				grown = append(grown, result.line(name))
			case result.err == nil && result.fixed != fixed:
				t.Errorf("%s: inputs %q are fixed, the list says %q", name, result.fixed, fixed)
			case result.err != nil && listed:
				t.Errorf("%s: %v", name, result.err)
			case result.err != nil && !isUnsupported(result.err):
				t.Errorf("%s (not listed): %v", name, result.err)
			case result.err != nil && os.Getenv("LATHE_REASONS") != "":
				fmt.Println(name, result.err)
			}
		}
	}
	if os.Getenv("LATHE_CASE") != "" {
		return
	}
	for name := range supported {
		if !seen[name] {
			t.Errorf("%s is listed but there is no such case", name)
		}
	}
	golden.Grow(t, supportedList, grown)
}

func isUnsupported(err error) bool {
	if strings.Contains(err.Error(), "panic") || errors.Is(err, errWrong) {
		return false
	}
	return strings.Contains(err.Error(), "not supported") || strings.Contains(err.Error(), "unsupported")
}

var errWrong = errors.New("wrong result")

type caseResult struct {
	err   error
	fixed string
}

func (r caseResult) line(name string) string {
	if r.fixed == "" {
		return name
	}
	return name + " fixed: " + r.fixed
}

// runLimited runs a case, which has a minute.
func runLimited(dir string) caseResult {
	done := make(chan caseResult, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- caseResult{err: fmt.Errorf("panic: %v", r)}
			}
		}()
		done <- runCase(dir)
	}()
	select {
	case r := <-done:
		return r
	case <-time.After(time.Minute):
		return caseResult{err: errors.New("no result after a minute")}
	}
}

// runCase imports the model and runs its data sets. An input whose value the import turns out to need is fixed.
func runCase(dir string) caseResult {
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil || len(sets) == 0 {
		return caseResult{err: fmt.Errorf("%s has no data sets", dir)}
	}
	var fixed []string
	for _, set := range sets {
		fixed = nil
		for {
			err := runSet(dir, set, fixed)
			if err == nil {
				break
			}
			more := inputToFix(dir, err, fixed)
			if more == nil {
				return caseResult{err: err}
			}
			fixed = append(fixed, more...)
			slices.Sort(fixed)
		}
	}
	return caseResult{fixed: strings.Join(fixed, ", ")}
}

// inputToFix returns the input that an import missed the value of, or, where that value is computed from others, all
// integer inputs that may be shapes, axes and the like; nil when there is none.
func inputToFix(dir string, err error, fixed []string) []string {
	_, rest, missing := strings.Cut(err.Error(), ` ("`)
	name, rest, _ := strings.Cut(rest, `") depends on input data`)
	if !missing || rest == "" && !strings.Contains(err.Error(), "depends on input data") {
		return nil
	}
	m, err := ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil
	}
	defer m.Close()
	var shapes []string
	for _, in := range m.Graph.RealInputs() {
		switch {
		case slices.Contains(fixed, in.Name):
		case in.Name == name:
			return []string{name}
		case len(in.Dims) < 2 && in.Elem != Float && in.Elem != Double && in.Elem != Float16 || len(in.Dims) == 0:
			shapes = append(shapes, in.Name)
		}
	}
	return shapes
}

// runSet compares the outputs for one data set.
func runSet(dir, set string, fixed []string) error {
	m, err := ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	defer m.Close()
	o := Options{Shapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
	given := map[string]*tensor.Tensor{}
	for i, in := range m.Graph.RealInputs() {
		x, err := readCaseTensor(filepath.Join(set, fmt.Sprintf("input_%d.pb", i)))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotTensor) {
			continue // the import rejects inputs that are sequences or optional
		}
		if err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		given[in.Name] = x
		if slices.Contains(fixed, in.Name) {
			o.Values[in.Name] = x
		} else {
			o.Shapes[in.Name] = x.Shape
		}
	}
	g, err := Import(m, o)
	if err != nil {
		return err
	}
	var inputs []*tensor.Tensor
	for _, in := range g.Inputs {
		inputs = append(inputs, given[in.Name])
	}
	outputs, err := evaltest.Actual(g, inputs)
	if err != nil {
		return err
	}
	for i, v := range g.Outputs {
		want, err := readCaseTensor(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return fmt.Errorf("output %q: %w", v.Name, err)
		}
		if err := sameTensor(outputs[i], want, max(absoluteTolerance(want), noise[filepath.Base(dir)])); err != nil {
			return fmt.Errorf("output %q: %w: %w", v.Name, errWrong, err)
		}
	}
	return nil
}

func readCaseTensor(path string) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := ReadTensor(data)
	if err != nil {
		return nil, err
	}
	v, err := constantOf(t)
	if err != nil {
		return nil, err
	}
	return v.Const, nil
}

// sameTensor compares with the tolerances of ONNX's own runner, those of 16-bit floats being of their precision.
func sameTensor(got, want *tensor.Tensor, absolute float64) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	if !want.DType.IsFloat() {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			return fmt.Errorf("integers differ: %v instead of %v", got.Ints()[:min(got.Len(), 24)], want.Ints()[:min(got.Len(), 24)])
		}
		return nil
	}
	for i := range want.Len() {
		x, y := got.Float(i), want.Float(i)
		if !closeTo(x, y, 1e-3, absolute) {
			return fmt.Errorf("element %d of %s is %v instead of %v", i, want.Type(), x, y)
		}
	}
	return nil
}

// noise lists cases whose expected values are rounding noise where the exact value is 0, and how large it is.
var noise = map[string]float64{"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}

// absoluteTolerance is 1e-7, or for 16-bit floats what their rounding loses of the greatest element.
func absoluteTolerance(want *tensor.Tensor) float64 {
	if want.DType.Size() > 2 {
		return 1e-7
	}
	top := 0.0
	for i := range want.Len() {
		if v := math.Abs(want.Float(i)); v > top && !math.IsInf(v, 0) {
			top = v
		}
	}
	return top / 256
}

func closeTo(x, y, relative, absolute float64) bool {
	switch {
	case math.IsNaN(y):
		return math.IsNaN(x)
	case math.IsInf(y, 0):
		return x == y
	}
	return math.Abs(x-y) <= absolute+relative*math.Abs(y)
}
