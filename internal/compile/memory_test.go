package compile

import (
	"context"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestMemoryOfTarget compiles an element-wise network over tensors too large for 32-bit addresses.
func TestMemoryOfTarget(t *testing.T) {
	for target, want := range map[string]string{
		"llvm -mtriple=armv7-linux-gnueabihf": "needs 3.0 GiB of memory, and a program on arm has at most 2",
		"llvm -mtriple=aarch64-linux-gnu":     "",
	} {
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(ops.Relu, op.None{}, g.Input("x", types.Of(types.F32, 3<<27)))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		_, err = Compile(context.Background(), g, Options{Target: targettest.Resolve(t, target), Level: 3})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", target, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

// TestCostsFor: places are weighed where several workers may run the code, and memory is all that counts elsewhere.
func TestCostsFor(t *testing.T) {
	for target, workers := range map[string]bool{
		"c": false, "wasm32": false, "llvm -mtriple=x86_64-linux-gnu -num-cores=1": false,
		"llvm -mtriple=x86_64-linux-gnu": true, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72": true,
	} {
		if costs := costsFor(targettest.Resolve(t, target)); (costs != nil) != workers {
			t.Errorf("%s: %+v", target, costs)
		}
	}
}
