package onnx

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestIdentify(t *testing.T) {
	header := `{"__metadata__":{}}`
	safetensors := append(protowire.AppendFixed64(nil, uint64(len(header))), header...)
	tar := append(make([]byte, 0, 512), "mod.so"...)
	tar = append(tar[:257:512], "ustar\x0000"...)
	graphDef := pb{}.sub(1, pb{}.str(1, "input").str(2, "Placeholder"))
	saved := pb{}.int(1, 1).sub(2, pb{}.sub(1, pb{}.str(4, "serve").str(5, strings.Repeat("2.11", 30))))
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"zeros", make([]byte, 100), "zeros"},
		{"spaces", []byte(" \n"), "white space"},
		{"LFS", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "Git LFS pointer"},
		{"HTML", []byte("\n<!DOCTYPE html>\n<html>"), "HTML page"},
		{"html", []byte("<HTML><head>"), "HTML page"},
		{"XML", []byte("<?xml version='1.0'?><net>"), "XML"},
		{"JSON", []byte(`{"nodes": []}`), "JSON"},
		{"text model", []byte("ir_version: 8\ngraph {\n"), "text form"},
		{"textual syntax", []byte("<\n  ir_version: 8,\n"), "textual syntax"},
		{"TFLite", []byte("\x1c\x00\x00\x00TFL3...."), "TensorFlow Lite"},
		{"ORT", []byte("\x1c\x00\x00\x00ORTM...."), ".ort"},
		{"torch", append([]byte("PK\x03\x04"), "\x00\x00archive/data.pkl"...), "PyTorch"},
		{"npz", append([]byte("PK\x03\x04"), "\x00\x00x.npy"...), "numpy archive"},
		{"keras", append([]byte("PK\x03\x04"), "metadata.json config.json"...), "Keras"},
		{"zip", []byte("PK\x03\x04\x14\x00"), "zip archive"},
		{"pickle", []byte("\x80\x02\x8a\nl\xfc\x9c"), "pickle"},
		{"HDF5", []byte("\x89HDF\r\n\x1a\n\x00"), "HDF5"},
		{"npy", []byte("\x93NUMPY\x01\x00"), "numpy array"},
		{"safetensors", safetensors, "safetensors"},
		{"GGUF", []byte("GGUF\x03\x00"), "GGUF"},
		{"gzip", []byte("\x1f\x8b\x08\x00"), "gzip"},
		{"tar", tar, "tar archive"},
		{"ELF", []byte("\x7fELF\x02"), "shared library"},
		{"GraphDef", graphDef, "frozen TensorFlow graph"},
		{"SavedModel", saved, "SavedModel"},
		{"Caffe", pb{}.str(1, "AlexNet").sub(100, nil), "Caffe model"},
		{"tensor", wireTensor("t", Float, []int64{1, 2}, wireRaw(8)), "single tensor"},
		{"scalar", wireTensor("t", Float, nil, wireRaw(4)), "single value"},
		{"sequence", pb{}.str(1, "seq").int(2, 1), "single value"},
		{"noise", []byte{7, 7, 7}, "no protobuf field"},
		{"prose", []byte("hello"), "text file"},
		{"C", []byte("/* a network */\n#include <stdint.h>\n"), "source in C"},
		{"archive", []byte("!<arch>\n/               0"), "static library"},
		{"wasm", []byte("\x00asm\x01\x00\x00\x00"), "WebAssembly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.data, "")
			wantError(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than one line", err)
			}
		})
	}
	if what := identify(wireModel(wireGraph("x", "x"))); what != "" {
		t.Errorf("a model is taken for something else: %s", what)
	}
}
