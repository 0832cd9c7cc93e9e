package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// editors are the folders and files that change graphs without a rewriter, and why. All others use internal/graph/rewrite,
// which keeps readers, types, names and origins right.
var editors = map[string]string{
	"internal/graph":                       "defines graphs, parses and copies them",
	"internal/graph/rewrite":               "is the rewriter",
	"internal/compose/builder.go":          "appends nodes to a graph that is being made",
	"internal/compose/loop.go":             "makes the body of a loop from what was appended",
	"internal/compose/branch.go":           "makes branches from what was appended",
	"internal/testkit/graphtest":           "makes random graphs, and takes back what does not fit",
	"internal/verify/verify.go":            "makes a graph of one node, with the types it has",
	"internal/compile/kernels.go":          "lists what kernels read and write",
	"internal/compile/describe.go":         "fills in the steps of a manifest, which have attributes too",
	"internal/compile/pack.go":             "makes mod.json, which has nodes too",
	"internal/export/onnx/write.go":        "makes the nodes of a model",
	"internal/export/onnx/write_loop.go":   "likewise",
	"internal/export/onnx/write_branch.go": "likewise",
	"test/fuzz/grow.go":                    "likewise",
}

// fields are those of graph.Graph and graph.Node that a rewriter changes.
var fields = []string{"Nodes", "Op", "Attrs", "In", "Out", "Layout"}

// TestEdits: code that knows graphs assigns none of the fields of graphs and nodes, and makes no nodes by hand.
func TestEdits(t *testing.T) {
	held{
		exceptions: editors, find: editsIn,
		found: "a graph is changed without a rewriter (internal/graph/rewrite)", needless: "changes no graph",
	}.test(t)
}

// editsIn lists the places in a file that knows graphs where a field of one may be assigned or a node is made.
func editsIn(f *ast.File) (places []token.Pos) {
	knows := f.Name.Name == "graph"
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		knows = knows || err == nil && path == module+"/internal/graph"
	}
	if !knows {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if i, ok := to.(*ast.IndexExpr); ok {
					to = i.X
				}
				if s, ok := to.(*ast.SelectorExpr); ok && slices.Contains(fields, s.Sel.Name) {
					places = append(places, n.Pos())
				}
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Node" {
				if p, ok := s.X.(*ast.Ident); ok && p.Name == "graph" {
					places = append(places, n.Pos())
				}
			}
		}
		return true
	})
	return places
}

// TestEditsIn: what a pass must not write is found, and what it reads is not.
func TestEditsIn(t *testing.T) {
	for text, want := range map[string]int{
		`g.Nodes = nil`: 1, `g.Nodes[i] = n`: 1, `n.In[0], n.Attrs = v, a`: 2, `v.Type.Layout = ""`: 1, `g.Nodes = append(g.Nodes, &graph.Node{Op: d})`: 2,
		`n := graph.Node{}`: 1, `x := n.In[0]`: 0, `a.Axis = 1`: 0, `n.Why = ""`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "pass.go", "package pass\nimport \"lathe/internal/graph\"\nfunc f() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(editsIn(f)); got != want {
			t.Errorf("%s: %d edits instead of %d", text, got, want)
		}
	}
}
