package bundle

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lathe/internal/testkit/golden"
)

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time over the first
		if err := Write(filepath.Join(dir, "a.tar"), sampleContents()); err != nil {
			t.Fatal(err)
		}
		if err := Write(filepath.Join(dir, "b.so"), sampleContents()); err != nil {
			t.Fatal(err)
		}
	}
	if got := golden.Names(t, dir); got != "a.tar b.json b.lathe.json b.params b.so" {
		t.Errorf("files: %s", got)
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	st, err := os.Stat(filepath.Join(dir, "a.tar"))
	if err != nil || st.Mode().Perm() != os.FileMode(0o666&^mask) {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// TestWriteNames fills the manifest's parameter names in, and refuses wrong ones.
func TestWriteNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tar")
	c := sampleContents()
	c.Manifest.Params = nil
	if err := Write(path, c); err != nil {
		t.Fatal(err)
	}
	if c.Manifest.Params != nil {
		t.Error("Write changes the manifest it is given")
	}
	checkPackage(t, path)
	c.Manifest.Params = []string{"p1"}
	wantError(t, Write(path, c), path, "differ")
}

// TestWriteFailureKeepsOld leaves the old package alone and no file behind when the new one cannot be written.
func TestWriteFailureKeepsOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.tar")
	if err := Write(path, sampleContents()); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Contents){
		"module name":         func(c *Contents) { c.Manifest.Module = "?" },
		"takes 8 bytes":       func(c *Contents) { c.Params[1].Data = nil },
		"heads":               func(c *Contents) { c.Graph.Heads[0].Node = 99 },
		"not an ELF":          func(c *Contents) { c.Library = []byte("#!/bin/sh") },
		"reserved for paddin": func(c *Contents) { c.Params[0].Name = "__pad.7"; c.Manifest.Params = nil },
	} {
		c := sampleContents()
		spoil(c)
		wantError(t, Write(path, c), path, want)
		wantError(t, Write(filepath.Join(dir, "y.so"), c), want)
	}
	if got := golden.Names(t, dir); got != "x.tar" {
		t.Errorf("files: %s", got)
	}
	checkPackage(t, path)
}

func TestWriteTargets(t *testing.T) {
	dir := t.TempDir()
	wantError(t, Write(filepath.Join(dir, "no", "x.tar"), sampleContents()), "cannot write in", "no such file")
	wantError(t, Write("/dev/null", sampleContents()), "/dev/null exists and is not a plain file")
	wantError(t, Write(dir, sampleContents()), "not a plain file")
	real := filepath.Join(dir, "real.tar")
	link := filepath.Join(dir, "link.tar")
	if err := os.WriteFile(real, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.tar", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, sampleContents()); err != nil {
		t.Fatal(err)
	}
	checkPackage(t, real)
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", st.Mode(), err)
	}
}
