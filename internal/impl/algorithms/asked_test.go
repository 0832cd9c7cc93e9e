package algorithms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/impl"
)

// TestAsked: the lists of decisions name what the code asks for, and nothing else. Whatever it asks reaches a
// choice.Decision; the test follows the names that are put there to the constants that callers give.
func TestAsked(t *testing.T) {
	var code asking
	for _, root := range []string{"..", "../../pass", "../../choice"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				code.files = append(code.files, f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	code.constants()
	code.names = map[string]bool{}
	for changed := true; changed; {
		known := len(code.askers) + len(code.names)
		for _, f := range code.files {
			code.pkg = f.Name.Name
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					code.function(t, fn)
				}
			}
		}
		changed = len(code.askers)+len(code.names) > known
	}
	var listed []string
	for _, list := range [][]impl.DecisionInfo{Table.NodeDecisions(), Table.Decisions()} {
		var names []string
		for _, d := range list {
			if slices.Contains(names, d.Name) {
				t.Errorf("decision %s is twice in a list", d.Name)
			}
			names = append(names, d.Name)
		}
		listed = append(listed, names...)
	}
	for name := range code.names {
		if !slices.Contains(listed, name) {
			t.Errorf("decision %s is asked and is in no list", name)
		}
	}
	for _, name := range listed {
		if !code.names[name] {
			t.Errorf("decision %s is in a list, and nobody asks it", name)
		}
	}
	if len(code.askers) < 5 || len(code.names) < 20 {
		t.Errorf("found %d functions that ask for %d decisions only", len(code.askers), len(code.names))
	}
}

// asking is what code asks for.
type asking struct {
	files  []*ast.File
	pkg    string // that is looked at
	consts map[string]string
	askers map[string]int // functions that ask for what a caller names, by key, and the parameter that does
	names  map[string]bool
}

// constants finds the strings with names.
func (a *asking) constants() {
	a.consts, a.askers = map[string]string{}, map[string]int{}
	for _, f := range a.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, x := range v.Values {
					if text, ok := literal(x); ok {
						a.consts[v.Names[i].Name] = text
					}
				}
			}
			return true
		})
	}
}

// function notes what fn asks for.
func (a *asking) function(t *testing.T, fn *ast.FuncDecl) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if typ, ok := n.Type.(*ast.SelectorExpr); ok && typ.Sel.Name == "Decision" || isIdent(n.Type, "Decision") {
				a.name(t, fn, field(n, "Name"))
			}
		case *ast.CallExpr:
			if at, ok := a.askers[a.key(called(n))]; ok && at < len(n.Args) {
				a.name(t, fn, n.Args[at])
			}
		}
		return true
	})
}

// name notes the name of a decision for which fn asks. That of one block has it inside.
func (a *asking) name(t *testing.T, fn *ast.FuncDecl, x ast.Expr) {
	if c, ok := x.(*ast.CallExpr); ok && (called(c) == "Of" || called(c) == "decision") {
		x = c.Args[0]
	}
	if text, ok := literal(x); ok {
		a.names[text] = true
		return
	}
	id, ok := x.(*ast.Ident)
	if ok && a.consts[id.Name] != "" {
		a.names[a.consts[id.Name]] = true
		return
	}
	i := 0
	for _, p := range fn.Type.Params.List {
		for _, n := range p.Names {
			if ok && n.Name == id.Name {
				a.askers[a.key(fn.Name.Name)] = i
				return
			}
			i++
		}
	}
	t.Errorf("%s asks for a decision whose name is neither a constant nor a parameter", fn.Name.Name)
}

// key is the name of a function that is seen everywhere, and names of the package that is looked at with it.
func (a *asking) key(name string) string {
	if ast.IsExported(name) {
		return name
	}
	return a.pkg + "." + name
}

func literal(x ast.Expr) (text string, ok bool) {
	b, ok := x.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(b.Value)
	return text, err == nil
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// called is the name of the function or method that is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// field is a field of a composite literal, nil where it is not set.
func field(n *ast.CompositeLit, name string) ast.Expr {
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && isIdent(kv.Key, name) {
			return kv.Value
		}
	}
	return nil
}
