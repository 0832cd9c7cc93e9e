package lathe

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"

	"lathe/internal/export/onnx"
	"lathe/internal/fault"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/version"
)

// A protobuf message holds at most 2 GB. mostInside leaves room for what is no weight.
const mostInside = 2<<30 - 64<<20

// SaveONNX writes the model as an ONNX file of standard operators (but for weights in blocks, see QuantizeOptions.Int4Form), for other tools: with the names of its inputs, outputs and values, and
// with the shapes that it was loaded for. Weights beyond what one file can hold are in PATH.data. Nothing half-written is left behind.
func (m *Model) SaveONNX(ctx context.Context, path string) error {
	err := fault.Guard(func() error { return m.saveONNX(ctx, path) })
	if err != nil {
		return excerpt.Error(err)
	}
	return nil
}

func (m *Model) saveONNX(ctx context.Context, path string) error {
	g, err := m.graph()
	if err != nil {
		return err
	}
	o := onnx.Options{Producer: "lathe " + version.Number, Standard: true, QDQ: !m.matmulNBits}
	weights := 0
	for _, c := range g.Constants() {
		weights += c.Const.Size()
	}
	var files []*atomicfile.File
	create := func(path string) (*bufio.Writer, error) {
		f, err := atomicfile.Create(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		files = append(files, f)
		return bufio.NewWriterSize(f, 1<<20), nil
	}
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	var data *bufio.Writer
	if weights > mostInside {
		if data, err = create(path + ".data"); err != nil {
			return err
		}
		o.External = &onnx.External{Name: filepath.Base(path) + ".data", W: data}
	}
	w, err := create(path)
	if err != nil {
		return err
	}
	if err := onnx.Write(w, g, o); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	for _, w := range []*bufio.Writer{data, w} {
		if w == nil {
			continue
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
