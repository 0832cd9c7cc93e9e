package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/target"
)

// ofArchitectures are the folders and files that may name an architecture or one's features, and why. All others ask the
// target's isa.ISA for a fact.
var ofArchitectures = map[string]string{
	"internal/isa":               "is what is known of each",
	"internal/target/arches.go":  "is the list of them",
	"internal/cpu":               "asks processors and kernels what they have, each in its own way",
	"internal/tool/machine":      "measures the processor that it runs on, by loops written for it",
	"internal/target/c.go":       "is C source, which has no architecture",
	"internal/target/presets.go": "has names of boards, in an order of its own",
	"internal/toolchain":         "has LLVM's names, and lld's, of more machines than code is made for",
	"internal/bundle/elf.go":     "has names of ELF's machines, of more than code is made for",
	"internal/compile/format.go": "names the target that a format has when none is named",
	"internal/testkit/passtest":  "has a machine for tests",
	"internal/testkit/amxtest":   "executes instructions of one on processors that lack them",
	"bench":                      "describes the machine of a measurement",
}

// TestArchitectures: code outside of these knows facts of architectures, and no architecture.
func TestArchitectures(t *testing.T) {
	held{
		exceptions: ofArchitectures, below: true, find: namesOfArchitectures().in,
		found: "an architecture is named (ask its isa.ISA for a fact)", needless: "names no architecture",
	}.test(t)
}

// names are words by which a file may name architectures.
type names struct {
	arches, features map[string]bool
}

func namesOfArchitectures() names {
	n := names{map[string]bool{}, map[string]bool{}}
	for _, a := range target.ISAs() {
		n.arches[string(a.Arch)], n.arches[a.Triple] = true, true
		for _, begin := range a.Triples {
			n.arches[strings.TrimSuffix(begin, "*")] = true
		}
		for _, f := range a.Rows {
			n.features[f.Name] = true
		}
	}
	return n
}

// in lists the places in a file where an architecture is named: a constant of package target, a string with a name, a question
// for a feature by name, or the import of an architecture's folder.
func (n names) in(f *ast.File) (places []token.Pos) {
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasPrefix(path, module+"/internal/isa/") {
			places = append(places, i.Pos())
		}
	}
	constants := []string{"X86", "AArch64", "ARM", "RISCV64", "WASM32", "CSource"}
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if p, ok := node.X.(*ast.Ident); ok && p.Name == "target" && slices.Contains(constants, node.Sel.Name) {
				places = append(places, node.Pos())
			}
		case *ast.Ident:
			if f.Name.Name == "target" && slices.Contains(constants, node.Name) {
				places = append(places, node.Pos())
			}
		case *ast.BasicLit:
			if n.arches[literal(node)] {
				places = append(places, node.Pos())
			}
		case *ast.CallExpr:
			called := ""
			switch fun := node.Fun.(type) {
			case *ast.Ident:
				called = fun.Name
			case *ast.SelectorExpr:
				called = fun.Sel.Name
			}
			if strings.EqualFold(called, "has") && len(node.Args) == 1 && n.features[literal(node.Args[0])] {
				places = append(places, node.Pos())
			}
		}
		return true
	})
	return places
}

// literal is the value of a string in the source; "" for all else.
func literal(e ast.Expr) string {
	if b, ok := e.(*ast.BasicLit); ok && b.Kind == token.STRING {
		s, _ := strconv.Unquote(b.Value)
		return s
	}
	return ""
}

// TestNamesIn: names of architectures are found, and facts are not.
func TestNamesIn(t *testing.T) {
	words := namesOfArchitectures()
	for text, want := range map[string]int{
		`_ = t.Arch == target.ARM`: 1, `switch t.Arch { case "aarch64", "wasm32": }`: 2, `var m = map[target.Arch]int{target.X86: 1, target.RISCV64: 2}`: 2,
		`_ = t.Has("avx512f")`: 1, `has := t.Has; _ = has("neon")`: 1, `_ = tab["zvfh"]`: 0, `_ = strings.HasPrefix(triple, "armv7")`: 1,
		`_ = t.ISA().LoadsFirst`: 0, `_ = t.IsSource()`: 0, `_ = "targets such as aarch64"`: 0, `_ = point.Has("tile")`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "impl.go", "package impl\nfunc f() { "+text+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(words.in(f)); got != want {
			t.Errorf("%s: %d names instead of %d", text, got, want)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "impl.go", "package impl\nimport \"lathe/internal/isa/arm\"\nvar _ = arm.ISA", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(words.in(f)) != 1 {
		t.Error("the import of an architecture is not found")
	}
}
