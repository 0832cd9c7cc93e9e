package spelling

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n           int
		thing, want string
	}{{0, "byte", "0 bytes"}, {1, "axis", "1 axis"}, {2, "axis", "2 axes"}, {1, "class", "1 class"}, {3, "class", "3 classes"}, {-1, "step", "-1 steps"}, {0, "spatial axis", "0 spatial axes"}} {
		if got := Count(c.n, c.thing); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.thing, got, c.want)
		}
	}
}

// counted finds a number in front of a plural in a format.
var counted = regexp.MustCompile(`%d ([a-z]{3,} )?(` + strings.Join([]string{
	"dimensions", "inputs", "outputs", "operands", "elements", "values", "axes", "bytes", "entries", "channels", "groups", "steps", "numbers", "attributes",
	"results", "indices", "extents", "sizes", "images", "parts", "nodes", "names", "heads", "workers", "tensors", "constants", "statements",
}, "|") + `)\b`)

// TestNumbersBeforePlurals reads the messages about models and packages: a number of things that may be one goes through Count.
func TestNumbersBeforePlurals(t *testing.T) {
	for _, s := range []string{"%d spatial axes", "has %d elements instead"} {
		if !counted.MatchString(s) {
			t.Errorf("%q is not found", s)
		}
	}
	files := 0
	for _, dir := range []string{"op", "ops", "graph", "graph/grapheval", "compose", "frontend/onnx", "bundle"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				files++
				checkFormats(t, path)
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d sources are read", files)
	}
}

func checkFormats(t *testing.T, path string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if found := counted.FindString(lit.Value); found != "" {
				t.Errorf("%v: %q says 1 %s as well: use spelling.Count", set.Position(lit.Pos()), lit.Value, strings.TrimPrefix(found, "%d "))
			}
		}
		return true
	})
}
