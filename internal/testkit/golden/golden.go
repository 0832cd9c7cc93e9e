// Package golden compares output with files in the tree, most of them under testdata. "go test -update" rewrites them;
// it is for tests only.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Check compares got with testdata/<name>.golden. It reports the first line that differs.
func Check(t testing.TB, name string, got []byte) {
	t.Helper()
	File(t, filepath.Join("testdata", filepath.FromSlash(name)+".golden"), got)
}

// File is Check for a file anywhere, such as a page of the documentation that a table gives.
func File(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs at %s (go test -update accepts it)\n--- got\n%s", file, difference(got, want), got)
	}
}

// Grow appends lines to a sorted list in a file, of what a test has found to be right; without -update it is an error that the list is
// short. Nothing is ever taken out.
func Grow(t testing.TB, file string, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		return
	}
	if !*update {
		t.Errorf("%d lines are missing in %s (go test -update appends them): %q", len(lines), file, lines[:min(len(lines), 10)])
		return
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(slices.Collect(strings.Lines(string(old))), lines)
	for i, line := range all {
		all[i] = strings.TrimSuffix(line, "\n")
	}
	slices.Sort(all)
	if err := os.WriteFile(file, []byte(strings.Join(all, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

// difference describes the first line in which got and want differ.
func difference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d:\n  got  %s\n  want %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("line %d: got %d lines, want %d", min(len(g), len(w))+1, len(g), len(w))
}

// Names lists the files in a folder, where a test says which there must be.
func Names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}
