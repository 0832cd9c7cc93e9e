package hdf5

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// TestConformanceFiles reads all of the HDF5 files under $LATHE_MODELS, of Keras and Caffe.
func TestConformanceFiles(t *testing.T) {
	root := realmodels.Folder(t)
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".h5") && !strings.HasSuffix(path, ".hdf5") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		found, err := walk(data)
		weights := 0
		for _, bytes := range found {
			weights += len(bytes)
		}
		if err != nil || weights == 0 || len(data) > 1<<16 && weights < len(data)/8 {
			t.Errorf("%s: %d bytes of %d (%v)", path, weights, len(data), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 5 {
		t.Errorf("only %d files", files)
	}
}
