package main

import (
	"os"
	"path/filepath"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"lathe/bench/model"
	"lathe/bench/sweep"
	"lathe/bench/zoo"
)

// peerLibrary starts ONNX Runtime where bench.sh installed it.
func peerLibrary(t *testing.T) {
	files, err := filepath.Glob(".peers/node_modules/onnxruntime-node/bin/napi-v6/linux/*/libonnxruntime.so.1")
	if err != nil || len(files) == 0 {
		t.Skip("bench.sh has not installed ONNX Runtime here")
	}
	for _, file := range files {
		p, err := startORT(file)
		if err == nil {
			t.Cleanup(func() { p.close() })
			return
		}
		t.Log(err) // another machine's
	}
	t.Fatal("no library of ONNX Runtime can be loaded")
}

// loads opens a model as ONNX Runtime checks it.
func loads(t *testing.T, b *model.Builder, external bool) {
	t.Helper()
	dir := t.TempDir()
	file, err := b.Save(dir, "model", external)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var in, out []string
	for _, v := range b.Graph().Inputs {
		in = append(in, v.Name)
	}
	for _, v := range b.Graph().Outputs {
		out = append(out, v.Name)
	}
	s, err := ort.NewDynamicAdvancedSession(file, in, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Destroy(); err != nil {
		t.Fatal(err)
	}
}

// TestPeerLoadsCases gives every case of the sweep to ONNX Runtime, whose checker and shape inference know what Lathe does not refuse.
func TestPeerLoadsCases(t *testing.T) {
	peerLibrary(t)
	for _, f := range sweep.Families {
		for _, c := range f.Cases {
			t.Run(f.FullName(c), func(t *testing.T) {
				b := model.New(f.FullName(c))
				c.Build(b)
				loads(t, b, false)
			})
		}
	}
}

// TestPeerLoadsNetworks does the same for the built networks, with weights beside the model.
func TestPeerLoadsNetworks(t *testing.T) {
	peerLibrary(t)
	for _, n := range zoo.Networks {
		t.Run(n.Name, func(t *testing.T) {
			b := model.New(n.Name)
			n.Build(b)
			loads(t, b, true)
		})
	}
}
