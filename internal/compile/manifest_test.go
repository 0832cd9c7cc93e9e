package compile

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
	"lathe/runtime"
)

// TestEditedManifest changes what the library relies on: the package is refused before the library runs.
func TestEditedManifest(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	n, err := g.Apply(ops.Relu, op.None{}, g.Input("x", types.Of(types.F32, 64)))
	if err != nil {
		t.Fatal(err)
	}
	n.Out[0].Name = "y"
	g.Outputs = []*graph.Value{n.Out[0]}
	res, err := Compile(context.Background(), g, Options{Target: targettest.Resolve(t, "llvm"), Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	stem := filepath.Join(t.TempDir(), "m")
	if err := bundle.Write(stem+".so", &res.Contents); err != nil {
		t.Fatal(err)
	}
	file := stem + ".lathe.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct{ from, to string }{
		{`"workspace": \d+`, `"workspace": 7`}, {`"scratch": \d+`, `"scratch": 9`}, {`64`, `8`},
	} {
		changed := regexp.MustCompile(edit.from).ReplaceAll(text, []byte(edit.to))
		if err := os.WriteFile(file, changed, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := runtime.Open(stem + ".so"); err == nil || !strings.Contains(err.Error(), "was changed since") {
			t.Errorf("%s: %v", edit.to, err)
		}
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Open(stem + ".so")
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}
