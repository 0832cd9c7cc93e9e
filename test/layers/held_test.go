package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// held is a rule that all code is held to, tests apart, with exceptions.
type held struct {
	exceptions map[string]string             // files and folders, and why
	below      bool                          // an exception for a folder is one for the folders below it
	find       func(f *ast.File) []token.Pos // where a file breaks the rule
	found      string                        // what that is
	needless   string                        // what an exception is that nothing needs
}

func (h held) test(t *testing.T) {
	t.Helper()
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found := h.find(f)
		if len(found) == 0 {
			return nil
		}
		if allowed := h.exception(filepath.ToSlash(name)); allowed != "" {
			used[allowed] = true
			return nil
		}
		for _, at := range found {
			t.Errorf("%s: %s", files.Position(at), h.found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range h.exceptions {
		if !used[name] {
			t.Errorf("%s %s: it needs no exception", name, h.needless)
		}
	}
}

// exception is that of a file, "" if there is none.
func (h held) exception(name string) string {
	for levels := 0; name != "." && (h.below || levels < 2); levels++ {
		if h.exceptions[name] != "" {
			return name
		}
		name = filepath.ToSlash(filepath.Dir(name))
	}
	return ""
}
