package main

import (
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/tool/cli"
)

// The files are the repository's; a folder that cannot be made is an error in a line.
func TestSources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if _, errs, code := latheCommand(t, "sources", "-o", dir); code != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	for _, file := range []string{"include/lathe.h", "include/lathe.hpp", "include/lathe_external.h", "src/lathe.c"} {
		want, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, filepath.Base(file))); err != nil || string(got) != string(want) {
			t.Errorf("%s differs (%v)", file, err)
		}
	}
	if _, errs, code := latheCommand(t, "sources", "-o", filepath.Join(dir, "lathe.h")); code != cli.ExitFailed || errs == "" {
		t.Errorf("onto a file: exit code %d, %q", code, errs)
	}
}
