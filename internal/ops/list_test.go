package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDefinitionsAreWhole checks what the types cannot.
func TestDefinitionsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range All {
		if !strings.HasPrefix(d.Doc, d.Name+" ") || !strings.HasSuffix(d.Doc, ".") {
			t.Errorf("%s: the doc is a sentence that starts with the name, not %q", d.Name, d.Doc)
		}
		if len(d.Args) == 0 || d.Infer == nil || d.Eval == nil || d.Sample == nil {
			t.Errorf("%s: a definition needs Args, Infer, Eval and Sample", d.Name)
		}
		if seen[d.Name] {
			t.Errorf("%s is listed twice", d.Name)
		}
		seen[d.Name] = true
		if f, ok := Lookup(d.Name); !ok || f != d {
			t.Errorf("Lookup does not find %s", d.Name)
		}
	}
	if _, ok := Lookup("nn.conv9d"); ok {
		t.Error("Lookup finds nn.conv9d")
	}
}

// TestAllListsEveryDefinition parses this package: every variable that holds an operator stands in a list_ file, and
// nothing else does.
func TestAllListsEveryDefinition(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files, lists []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "list_") {
			lists = append(lists, f)
		} else {
			files = append(files, f)
		}
	}
	defined, listed := definitions(files), elements(lists)
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if !listed[name] {
			t.Errorf("operator %s is in no list", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !defined[name] {
			t.Errorf("%s is listed, but no operator is defined under that name", name)
		}
	}
}

// definitions are the variables initialised by op.Define or by a function or method of this package that returns an operator.
func definitions(files []*ast.File) map[string]bool {
	makers := map[string]bool{"Define": true}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Type.Results != nil && isDef(fn.Type.Results.List[0].Type) {
				makers[fn.Name.Name] = true
			}
		}
	}
	defined := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if len(v.Values) == 1 && makers[callee(v.Values[0])] {
					defined[v.Names[0].Name] = true
				}
			}
		}
	}
	return defined
}

func isDef(t ast.Expr) bool {
	p, ok := t.(*ast.StarExpr)
	if !ok {
		return false
	}
	s, ok := p.X.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Def"
}

func callee(e ast.Expr) string {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// elements are the names in the literal lists.
func elements(files []*ast.File) map[string]bool {
	listed := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok {
				for _, e := range l.Elts {
					if id, ok := e.(*ast.Ident); ok {
						listed[id.Name] = true
					}
				}
			}
			return true
		})
	}
	return listed
}
