package deploy

import (
	"os/exec"
	"path/filepath"
	"testing"

	"lathe"
)

// TestCFloatEnvironment runs a network under every rounding, with traps and with flushing.
func TestCFloatEnvironment(t *testing.T) {
	program := buildRuntime(t, "environment.c", "-lm")
	for _, mode := range []lathe.Denormals{lathe.DenormalsFlush, lathe.DenormalsKeep} {
		path := filepath.Join(t.TempDir(), "net.so")
		compileDemo(t, "llvm", path, lathe.CompileOptions{Weights: lathe.WeightsInside, Denormals: mode})
		output(t, exec.Command(program, path))
	}
}
