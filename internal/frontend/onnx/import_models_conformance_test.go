package onnx

import (
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// notImported lists models that have something Lathe does not support, with a part of the message.
var notImported = map[string]string{}

// shapesOf gives models the shapes without which they have no meaning: with every open dimension 1, a window would be
// longer than the signal.
var shapesOf = map[string]map[string][]int{
	"onnx/silero_vad/silero_vad_v5_16k_op15.onnx": {"input": {1, 576}, "state": {2, 1, 128}},
}

// TestConformanceImportModels imports whole networks.
func TestConformanceImportModels(t *testing.T) {
	root := realmodels.Folder(t)
	for _, folder := range []string{"onnx", "zoo", "onnx_backend/light"} {
		for _, path := range filesUnder(t, filepath.Join(root, folder), ".onnx") {
			name := strings.TrimPrefix(path, root+"/")
			t.Run(name, func(t *testing.T) {
				if folder == "zoo" {
					path = withWeights(t, path)
				}
				m, err := ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				g, err := Import(m, Options{Shapes: shapesOf[name], Notes: func(s string) { t.Log(s) }})
				want, listed := notImported[name]
				switch {
				case listed && (err == nil || !strings.Contains(err.Error(), want)):
					t.Errorf("error %v; it should say %q", err, want)
				case !listed && err != nil:
					t.Error(err)
				case err == nil:
					t.Logf("%d nodes", len(g.Nodes))
				}
			})
		}
	}
}
