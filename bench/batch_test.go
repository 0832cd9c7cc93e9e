package main

import (
	"os"
	"path/filepath"
	"testing"

	"lathe"
)

// TestWithBatch gives the demo network, whose batch is 1, another one that the compiler's shapes then follow.
func TestWithBatch(t *testing.T) {
	model := filepath.Join("..", "examples", "demo", "digits.onnx")
	file, err := withBatch(model, 3, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := lathe.Load(file, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append(m.Inputs(), m.Outputs()...) {
		if x.Shape[0] != 3 {
			t.Errorf("%s has shape %v", x.Name, x.Shape)
		}
	}
	before, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Inputs()) != len(before.Inputs()) || m.Inputs()[0].Shape[1] != before.Inputs()[0].Shape[1] {
		t.Errorf("inputs %v of what was %v", m.Inputs(), before.Inputs())
	}
}

func TestWithBatchOfGarbage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(file, []byte{0x3a, 0xff, 0x01}, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := withBatch(file, 2, t.TempDir()); err == nil {
		t.Error("a truncated model was accepted")
	}
}
