package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/compile"
	"lathe/internal/frontend/onnx"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
	"lathe/internal/verify"
)

// A task asks for one case at one level; an outcome answers it. They travel as lines of JSON between the test and its
// children.
type task struct {
	Dir   string
	Level int
}

// An outcome is empty but for Fixed when the case is right.
type outcome struct {
	Kind  string // of the failure: unsupported, wrong, panic, crash, hang, error
	Error string
	Fixed []string // inputs that are fixed to the values of the data set, since the model computes shapes from them
}

// Kinds of failure. Only the first is allowed.
const (
	unsupported = "unsupported"
	wrong       = "wrong"
	panicked    = "panic"
	crashed     = "crash"
	hung        = "hang"
	failed      = "error"
)

var errWrong = errors.New("wrong result")

func failure(err error) outcome {
	kind := failed
	text := err.Error()
	switch {
	case errors.Is(err, errWrong):
		kind = wrong
	case strings.Contains(text, "internal error") || strings.Contains(text, "panic"):
		kind = panicked
	case isUnsupported(err):
		kind = unsupported
	}
	return outcome{Kind: kind, Error: text}
}

// isUnsupported reports whether the error tells the user that the model asks for something Lathe does not have.
func isUnsupported(err error) bool {
	for _, s := range []string{"not supported", "unsupported", "depends on input data"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// runCase compiles and runs the model of a case for each of its data sets. If the import wants values that are inputs,
// it is tried again with the small integer inputs fixed.
func runCase(t *target.Target, dir string, level int) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = outcome{Kind: panicked, Error: fmt.Sprint("panic: ", r)}
		}
	}()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err == nil && len(sets) == 0 {
		err = fmt.Errorf("%s has no data sets", dir)
	}
	if err != nil {
		return failure(err)
	}
	for _, set := range sets {
		c := &caseRun{target: t, model: filepath.Join(dir, "model.onnx"), set: set, level: level}
		err := c.run()
		if err != nil && strings.Contains(err.Error(), "depends on input data") {
			c.fix = true
			if again := c.run(); again == nil || !isUnsupported(again) {
				o.Fixed, err = c.fixed, again
			}
		}
		if err != nil {
			return failure(err)
		}
	}
	return o
}

// A caseRun is one case with one of its data sets.
type caseRun struct {
	target     *target.Target
	model, set string
	level      int
	fix        bool     // make small inputs of rank 0 and 1, and integer ones of rank 1, constants
	fixed      []string // those inputs
}

func (c *caseRun) run() error {
	m, err := onnx.ReadFile(c.model)
	if err != nil {
		return err
	}
	defer m.Close()
	o := onnx.Options{Shapes: map[string][]int{}, Values: map[string]*tensor.Tensor{}}
	given := map[string]*tensor.Tensor{}
	for i, in := range m.Graph.RealInputs() {
		x, err := readTensor(filepath.Join(c.set, fmt.Sprintf("input_%d.pb", i)))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, onnx.ErrNotTensor) || errors.Is(err, errElementType) {
			continue // what Lathe has no tensor for, the import has to reject
		}
		if err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		given[in.Name] = x
		if c.fix && (len(x.Shape) == 0 || len(x.Shape) == 1 && (x.Len() <= 8 || !x.DType.IsFloat())) {
			c.fixed = append(c.fixed, in.Name)
			o.Values[in.Name] = x
		} else {
			o.Shapes[in.Name] = x.Shape
		}
	}
	slices.Sort(c.fixed)
	g, err := onnx.Import(m, o)
	if err != nil {
		return err
	}
	var inputs []*tensor.Tensor
	for _, in := range g.Inputs {
		if given[in.Name] == nil {
			return fmt.Errorf("the import takes input %q, for which there is no tensor", in.Name)
		}
		inputs = append(inputs, given[in.Name])
	}
	options := compile.Options{Target: c.target, Level: c.level, Workers: 1}
	var foreseen error
	if c.level == 3 {
		_, foreseen = compile.Check(context.Background(), g.Clone(), options)
	}
	res, err := compile.Compile(context.Background(), g, options)
	if c.level == 3 && (foreseen == nil) != (err == nil) {
		return fmt.Errorf("compile says %v, and inspect foresees %v", err, foreseen)
	}
	if err != nil {
		return err
	}
	outputs, err := verify.Execute(res, inputs, 2)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	for i, got := range outputs {
		name := res.Contents.Manifest.Outputs[i].Name
		want, err := readTensor(filepath.Join(c.set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		if err := sameTensor(got, want, noise[filepath.Base(filepath.Dir(c.model))]); err != nil {
			return fmt.Errorf("output %q: %w: %w", name, errWrong, err)
		}
	}
	return nil
}

var errElementType = errors.New("no tensors of element type")

func readTensor(path string) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := onnx.ReadTensor(data)
	if err != nil {
		return nil, err
	}
	d, err := types.ParseDType(t.DType.String())
	if err != nil {
		return nil, fmt.Errorf("%w %s", errElementType, t.DType)
	}
	return tensor.Wrap(d, slices.Clone(t.Dims), t.Data)
}
