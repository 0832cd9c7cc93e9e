package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// deciders are the packages that weigh decisions.
var deciders = []string{"attention", "compile", "extern", "impl", "lower", "pass", "plan", "strips", "winograd"}

// steering are the files with numbers that steer, of which docs/steering.md tells unit, meaning and how they were found.
var steering = map[string]string{
	"internal/impl/steering.go":          "is such a file",
	"internal/impl/extern/steering.go":   "likewise",
	"internal/impl/strips/steering.go":   "likewise",
	"internal/impl/winograd/steering.go": "likewise",
	"internal/compile/steering.go":       "likewise",
	"internal/plan/steering.go":          "likewise",
}

// TestSteering: who decides has no constant that is a fraction elsewhere.
func TestSteering(t *testing.T) {
	held{
		exceptions: steering, find: fractionsIn,
		found: "a number steers (steering.go says its unit, meaning and how it was found)", needless: "has no fractions",
	}.test(t)
}

// fractionsIn lists the constants of a file of deciders that are no integers.
func fractionsIn(f *ast.File) (places []token.Pos) {
	if !slices.Contains(deciders, f.Name.Name) {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			ast.Inspect(d, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.FLOAT {
					places = append(places, l.Pos())
				}
				return true
			})
		}
		return true
	})
	return places
}

// TestFractionsIn: constants are found wherever they stand, and other numbers are not.
func TestFractionsIn(t *testing.T) {
	for text, want := range map[string]int{
		"const share = 0.5": 1, "const (\n\ta = 1\n\tb = 2.5 * 3\n)": 1, "func f() { const c = 1e3 }": 1, "var x = 0.5": 0, "const n = 4": 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "rule.go", "package impl\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(fractionsIn(f)); got != want {
			t.Errorf("%s: %d fractions instead of %d", text, got, want)
		}
	}
}
