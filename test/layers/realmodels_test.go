package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// selected are the words by which make conformance, make deploytest and make fuzznets select tests, and where.
var selected = []struct {
	word    string
	folders []string // nil: all
}{
	{"Conformance", nil},
	{"Deploy", []string{"test/deploy", "internal/verify", "test/conformance/models"}},
	{"Fuzz", []string{"test/fuzz"}},
}

// runs reports whether make runs a test of a folder with models.
func runs(folder, name string) bool {
	for _, s := range selected {
		if strings.Contains(name, s.word) && (s.folders == nil || slices.Contains(s.folders, folder)) {
			return true
		}
	}
	return false
}

// TestRealModels: a test that is skipped without LATHE_MODELS has a name by which make selects it; elsewhere nobody runs it.
func TestRealModels(t *testing.T) {
	root := filepath.Join("..", "..")
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		folder = filepath.ToSlash(folder)
		packages[folder] = append(packages[folder], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for folder, list := range packages {
		for _, f := range needModels(list) {
			if seen++; !runs(folder, f.Name.Name) {
				t.Errorf("%s: %s is skipped without LATHE_MODELS, and make runs no test of this name with it (Conformance in the name)", files.Position(f.Pos()), f.Name.Name)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d tests read models", seen)
	}
}

// A use is what a function does, by itself or through functions of its package.
type use struct {
	reads, skips bool // LATHE_MODELS; tests
	calls        map[string]bool
}

// needModels lists the tests of a package that read LATHE_MODELS and skip. A call is one of every function of that name, and
// a value of it is as good as a call.
func needModels(files []*ast.File) (tests []*ast.FuncDecl) {
	uses := map[string]*use{}
	var functions []*ast.FuncDecl
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				functions = append(functions, d)
				u := uses[called(d)]
				if u == nil {
					u = &use{calls: map[string]bool{}}
					uses[called(d)] = u
				}
				u.add(d.Body)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for _, u := range uses {
			for name := range u.calls {
				if c := uses[name]; c != nil && (c.reads && !u.reads || c.skips && !u.skips) {
					u.reads, u.skips, grown = u.reads || c.reads, u.skips || c.skips, true
				}
			}
		}
	}
	for _, d := range functions {
		if u := uses[called(d)]; d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") && u.reads && u.skips {
			tests = append(tests, d)
		}
	}
	return tests
}

// called is how a function is called: NAME, or .NAME of a method.
func called(d *ast.FuncDecl) string {
	if d.Recv != nil {
		return "." + d.Name.Name
	}
	return d.Name.Name
}

// add notes what the body of a function does.
func (u *use) add(body *ast.BlockStmt) {
	members := map[*ast.Ident]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			u.reads = u.reads || literal(n) == "LATHE_MODELS"
		case *ast.Ident:
			if !members[n] {
				u.calls[n.Name] = true
			}
		case *ast.SelectorExpr:
			members[n.Sel] = true
			name := n.Sel.Name
			if p, ok := n.X.(*ast.Ident); ok && p.Name == "realmodels" && name == "Folder" {
				u.reads, u.skips = true, true
			}
			u.skips = u.skips || name == "Skip" || name == "Skipf" || name == "SkipNow"
			u.calls["."+name] = true
		}
		return true
	})
}

// TestNeedModels: tests are found however they come to read models, and those that do without them are not.
func TestNeedModels(t *testing.T) {
	const helper = "\nfunc folder(t *testing.T) string { return realmodels.Folder(t) }\nfunc (c check) run() { c.all(folder) }"
	for text, want := range map[string]int{
		`realmodels.Folder(t, "tflite")`: 1, `folder(t)`: 1, `c.run()`: 1, `t.Run("", check{t}.run)`: 1,
		`if os.Getenv("LATHE_MODELS") == "" { t.Skip() }`: 1, `if os.Getenv("LATHE_MODELS") != "" { more() }`: 0, `t.Skip()`: 0, `x.folder()`: 0, `run()`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\nfunc TestX(t *testing.T) { "+text+" }"+helper, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(needModels([]*ast.File{f})); got != want {
			t.Errorf("%s: %d tests instead of %d", text, got, want)
		}
	}
}
