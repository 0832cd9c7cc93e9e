// Package formats is the list of model formats: a format is a package below frontend and a line here.
package formats

import (
	"errors"
	"io"
	"os"
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/frontend/caffe"
	"lathe/internal/frontend/coreml"
	"lathe/internal/frontend/darknet"
	"lathe/internal/frontend/keras"
	"lathe/internal/frontend/mxnet"
	"lathe/internal/frontend/onnx"
	"lathe/internal/frontend/paddle"
	"lathe/internal/frontend/tensorflow"
	"lathe/internal/frontend/tflite"
	"lathe/internal/frontend/torch"
)

// Table lists the formats, in the order in which they are asked whether a file is theirs.
var Table = []*frontend.Format{&onnx.Format, &keras.Format, &tflite.Format, &mxnet.Format, &caffe.Format, &darknet.Format, &paddle.Format, &tensorflow.Format, &coreml.Format, &torch.Format}

// Named is the format of a name, or nil.
func Named(name string) *frontend.Format {
	i := slices.IndexFunc(Table, func(f *frontend.Format) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return Table[i]
}

// Of is the format of the file or folder at path by what it holds, or nil where none knows it.
func Of(path string) (*frontend.Format, error) {
	head, err := head(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(Table, func(f *frontend.Format) bool { return f.Identify(head, path) })
	if i < 0 {
		return nil, nil
	}
	return Table[i], nil
}

// head is what a file begins with; nothing for a folder.
func head(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil || st.IsDir() {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, frontend.HeadSize)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}
