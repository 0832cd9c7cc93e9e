package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/tool/cli"
)

// The files are the repository's, lathe.c with its parts; a folder that cannot be made is an error in a line.
func TestSources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if _, errs, exit := latheCommand(t, "sources", "-o", dir); exit != cli.ExitOK || errs != "" {
		t.Fatalf("exit code %d, %s", exit, errs)
	}
	read := func(name ...string) string {
		b, err := os.ReadFile(filepath.Join(name...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, file := range []string{"include/lathe.h", "include/lathe.hpp", "include/lathe_external.h"} {
		if read(dir, filepath.Base(file)) != read("../..", file) {
			t.Errorf("%s differs", file)
		}
	}
	code := read(dir, "lathe.c")
	parts, err := filepath.Glob("../../src/lathe/*.c")
	if err != nil || len(parts) == 0 || strings.Contains(code, `#include "lathe/`) {
		t.Errorf("lathe.c includes parts, of which there are %d (%v)", len(parts), err)
	}
	for _, name := range parts {
		if strings.Count(code, read(name)) != 1 {
			t.Errorf("%s is not once in lathe.c", name)
		}
	}
	if _, errs, code := latheCommand(t, "sources", "-o", filepath.Join(dir, "lathe.h")); code != cli.ExitFailed || errs == "" {
		t.Errorf("onto a file: exit code %d, %q", code, errs)
	}
}
