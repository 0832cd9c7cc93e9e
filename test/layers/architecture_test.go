package layers

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture: docs/ARCHITECTURE.md says of every package what it is, and of none that there is not.
func TestArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(string(page))
	if len(rows) < 40 {
		t.Fatalf("%d rows of packages in docs/ARCHITECTURE.md", len(rows))
	}
	for _, r := range rows {
		for _, name := range r.names {
			if !slices.ContainsFunc(r.folders(name), func(dir string) bool {
				st, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir)))
				return err == nil && st.IsDir()
			}) {
				t.Errorf("docs/ARCHITECTURE.md has a row of %s, which is no folder", name)
			}
		}
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); file != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "bench", "scripts", "examples"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		if dir = filepath.ToSlash(dir); dir != "." && !slices.ContainsFunc(rows, func(r row) bool { return r.has(dir) }) {
			t.Errorf("docs/ARCHITECTURE.md does not say what %s is", dir)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A row of the table of packages is of one or of several, each named in full, from internal on, or from the folder of the first on.
type row struct {
	names  []string
	others bool // and of all that stand beside the last
}

var (
	tableOfPackages = regexp.MustCompile(`(?s)\n\| package \| what.*?\n\n`)
	quoted          = regexp.MustCompile("`([^`]+)`")
)

func rowsOf(page string) (rows []row) {
	for line := range strings.Lines(tableOfPackages.FindString(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`") {
			r := row{others: strings.HasSuffix(strings.TrimSpace(cells[1]), " and others")}
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				r.names = append(r.names, m[1])
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// folders are what a name of the row may stand for.
func (r row) folders(name string) []string {
	name = strings.TrimSuffix(name, "/...")
	if name == module {
		return []string{"."}
	}
	return []string{name, path.Join("internal", name), path.Join(path.Dir(r.names[0]), name)}
}

// has reports whether the row is of a folder.
func (r row) has(dir string) bool {
	for _, name := range r.names {
		for _, f := range r.folders(name) {
			if dir == f || strings.HasSuffix(name, "/...") && strings.HasPrefix(dir, f+"/") {
				return true
			}
		}
	}
	return r.others && slices.ContainsFunc(r.folders(r.names[len(r.names)-1]), func(f string) bool { return path.Dir(f) == path.Dir(dir) && path.Dir(f) != "internal" })
}

// TestRows: rows are of what they name, and of nothing else.
func TestRows(t *testing.T) {
	rows := rowsOf("text of `a`\n\n| package | what |\n| --- | --- |\n| `internal/one`, `two` | both |\n| `internal/isa`, `isa/x86` and others | |\n| `internal/kit/...` | |\n| `lathe` (root) | |\n\n| `no` | |\n")
	for dir, want := range map[string]bool{
		"internal/one": true, "internal/two": true, "internal/three": false, "internal/one/two": false, "internal/isa/x86": true, "internal/isa/arm": true, "internal/isa/arm/gen": false,
		"internal/kit/a": true, "internal/kit/a/b": true, ".": true, "a": false, "no": false,
	} {
		if got := slices.ContainsFunc(rows, func(r row) bool { return r.has(dir) }); got != want {
			t.Errorf("%s has a row: %t", dir, got)
		}
	}
}
