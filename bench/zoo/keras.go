package zoo

import (
	"errors"
	"os"
	"path/filepath"

	"lathe/internal/testkit/resnettest"
)

// Twins is the name of ResNet-50 in two files with the same weights, of ONNX and of Keras: what an importer costs is their difference in time.
const Twins = "resnet50_keras"

// writeTwins writes NAME.onnx and NAME.h5 to a folder.
func writeTwins(dir string) error {
	onnxFile, kerasFile := resnettest.Files(224, 64, 1000)
	file := filepath.Join(dir, Twins)
	return errors.Join(os.WriteFile(file+".onnx", onnxFile, 0o666), os.WriteFile(file+".h5", kerasFile, 0o666))
}
