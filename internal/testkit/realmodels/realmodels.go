// Package realmodels finds the models of others that tests read. They are too large for this repository.
package realmodels

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder returns a folder below $LATHE_MODELS, or that itself. Without LATHE_MODELS the test is skipped, and without the
// folder it fails. Tests that call it have Conformance or Deploy in their names, by which make selects them.
func Folder(t testing.TB, below ...string) string {
	t.Helper()
	root := os.Getenv("LATHE_MODELS")
	if root == "" {
		t.Skip("LATHE_MODELS is unset: it names the folder of models")
	}
	dir := filepath.Join(append([]string{root}, below...)...)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		t.Fatalf("LATHE_MODELS=%s: %s is not a folder", root, dir)
	}
	return dir
}
