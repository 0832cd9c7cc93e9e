package lathe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lathe/internal/testkit/onnxtest"
	"lathe/internal/types"
)

// endsSoon ends the context of work in the middle of it, and checks that the work ends with its error long before it is done.
func endsSoon(t *testing.T, what string, work func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		t.Fatalf("%s: ended before its context: %v", what, err)
	case <-time.After(300 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(10 * time.Second): // what is at hand takes minutes
		t.Errorf("%s goes on after its context has ended", what)
	}
}

func writeModel(t *testing.T, g *onnxtest.Graph) string {
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, onnxtest.Model(g), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoadContext: the import ends between two nodes.
func TestLoadContext(t *testing.T) {
	long := &onnxtest.Graph{Inputs: []onnxtest.Value{onnxtest.V("x0", types.F32, 64)}}
	const nodes = 300
	for i := range nodes {
		long.Nodes = append(long.Nodes, onnxtest.N(fmt.Sprintf("Sin x%d -> x%d", i, i+1)))
	}
	long.Outputs = []onnxtest.Value{onnxtest.V(fmt.Sprintf("x%d", nodes), types.F32, 64)}
	path := writeModel(t, long)
	if _, err := LoadContext(t.Context(), path, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	for after := range 20 { // asks of the context
		ctx := &countingContext{Context: t.Context(), left: 15 * after}
		if m, err := LoadContext(ctx, path, LoadOptions{}); m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d: model %v, error %v", after, m, err)
		}
	}
}

// countingContext ends when its error has been asked for some times.
type countingContext struct {
	context.Context
	left int
}

func (c *countingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestVerifyContext ends while one product of matrices is computed, by compiled code or by the reference, for minutes.
func TestVerifyContext(t *testing.T) {
	const n = 4096
	g := &onnxtest.Graph{Inputs: []onnxtest.Value{onnxtest.V("a", types.F32, n, n)}, Outputs: []onnxtest.Value{onnxtest.V("y", types.F32, n, n)},
		Nodes: []onnxtest.Node{onnxtest.N("MatMul a a -> y")}}
	m, err := Load(writeModel(t, g), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, perOperator := range []bool{false, true} {
		endsSoon(t, fmt.Sprintf("Verify, per operator: %v", perOperator), func(ctx context.Context) error {
			_, err := Verify(ctx, m, VerifyOptions{PerOperator: perOperator})
			return err
		})
	}
}

// TestSaveContext: in every format, whenever the context ends, all files are there or none.
func TestSaveContext(t *testing.T) {
	g := &onnxtest.Graph{Inputs: []onnxtest.Value{onnxtest.V("x", types.F32, 1, 16)}, Outputs: []onnxtest.Value{onnxtest.V("y", types.F32, 1, 16)},
		Weights: []onnxtest.Weight{onnxtest.Random("w", 16, 16)}, Nodes: []onnxtest.Node{onnxtest.N("MatMul x w -> y")}}
	m, err := Load(writeModel(t, g), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"x.tar", "x.so", "x.c", "x.wasm"} {
		p, err := Compile(t.Context(), m, CompileOptions{Output: output})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ended := 0
		for after := 0; ; after++ {
			err := p.SaveContext(&countingContext{Context: t.Context(), left: after}, filepath.Join(dir, output))
			if err == nil {
				break
			}
			ended++
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, after %d: %v", output, after, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s, after %d: %v are left, %v", output, after, left, err)
			}
		}
		if ended < 2 {
			t.Errorf("%s: the context was looked at %d times only", output, ended)
		}
	}
}
