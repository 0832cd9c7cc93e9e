package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/export/onnx"
	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// convertCommand writes a model of another format as ONNX, for peers that read only that: convert -o FILE.onnx MODEL. Quantised networks of TensorFlow
// Lite become real numbers between scales, as ONNX has them, and images get their channels first.
const convertCommand = "convert"

func convertModel(args []string) error {
	f := flag.NewFlagSet(convertCommand, flag.ExitOnError)
	to := f.String("o", "", "file to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *to == "" || f.NArg() != 1 {
		return errors.New("convert: -o FILE.onnx and one model are required")
	}
	b, err := converted(f.Arg(0))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	return os.WriteFile(*to, b, 0o666)
}

// layoutPasses bring networks with their channels last into the order of ONNX, and leave all else.
var layoutPasses = []string{"ConvertLayout", "SimplifyExpr", "DeadCodeElimination"}

func converted(path string) ([]byte, error) {
	format, err := formats.Of(path)
	if err != nil || format == nil {
		return nil, errors.Join(errors.New("no known format"), err)
	}
	m, err := format.Read(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for _, o := range format.Options {
		if o.Name == "tflite-arithmetic" {
			m.Set(o.Name, "qdq")
		}
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		return nil, err
	}
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	t, err := spec.Resolve(toolchain.Host)
	if err != nil {
		return nil, err
	}
	var skipped []string
	for _, p := range pass.Table {
		if !p.Required && !slices.Contains(layoutPasses, p.Name) {
			skipped = append(skipped, p.Name)
		}
	}
	if err := pipeline.Run(pass.Table, &pass.Context{Graph: g, Target: t, Level: 3}, pipeline.Options[*pass.Context]{Level: 3, Disabled: skipped}); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = onnx.Write(&b, g, onnx.Options{Producer: "lathe bench"})
	return b.Bytes(), err
}

// twin is the model as peers read it, beside the packages where it is of another format.
func (c *comparison) twin(model string) (string, error) {
	if strings.HasSuffix(model, ".onnx") || len(c.peers) == 0 {
		return model, nil
	}
	b, err := converted(model)
	if err != nil {
		return "", fmt.Errorf("convert: %w", err)
	}
	file := filepath.Join(c.work, modelName(model)+".onnx")
	return file, os.WriteFile(file, b, 0o666)
}
