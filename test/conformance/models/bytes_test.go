package models

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// TestConformancePackageBytes compiles networks of several kinds with different numbers of compiler threads, each from a
// fresh import: the packages must be the same to the byte.
func TestConformancePackageBytes(t *testing.T) {
	root := realmodels.Folder(t)
	for _, model := range []string{
		"onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx",
		"onnx/mobilenetv2_qdq_imagenet/model.onnx",
		"onnx/ultraface/version-RFB-320.onnx",
		"onnx/bert_toy/bert_toy_optimized.onnx",
		"onnx_backend/light/light_densenet121.onnx",
	} {
		t.Run(model, func(t *testing.T) {
			var first string
			for _, threads := range []int{1, 2, 7} {
				pack := filepath.Join(t.TempDir(), fmt.Sprint(threads, ".tar"))
				save(t, filepath.Join(root, model), nil, pack, threads)
				b, err := os.ReadFile(pack)
				if err != nil {
					t.Fatal(err)
				}
				sum := fmt.Sprintf("%d bytes, %x", len(b), sha256.Sum256(b))
				if first == "" {
					first = sum
				}
				if sum != first {
					t.Errorf("%d threads: %s; with one: %s", threads, sum, first)
				}
			}
		})
	}
}
