package atomicfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/testkit/golden"
)

// TestFile discards with and without a name.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(t.Context(), filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	// As on a file system without unnamed files.
	temp := tempName(filepath.Join(dir, "b"))
	file, err := os.Create(temp)
	if err != nil {
		t.Fatal(err)
	}
	f = &File{File: file, Path: filepath.Join(dir, "b"), temp: temp, ctx: t.Context()}
	f.Discard()
	if got := golden.Names(t, dir); got != "" {
		t.Errorf("files: %s", got)
	}
	if file, err = os.Create(temp); err != nil {
		t.Fatal(err)
	}
	f = &File{File: file, Path: filepath.Join(dir, "b"), temp: temp, ctx: t.Context()}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	if got := golden.Names(t, dir); got != "b" {
		t.Errorf("files: %s", got)
	}
}

// TestUnnamed: the file is reached by its descriptor alone.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := Unnamed()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "content"); err != nil {
		t.Fatal(err)
	}
	if got := golden.Names(t, dir); got != "" {
		t.Errorf("files: %s", got)
	}
	if b, err := os.ReadFile(ProcPath(f)); err != nil || string(b) != "content" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

// TestContext: a large write ends in its middle.
func TestContext(t *testing.T) {
	dir := t.TempDir()
	ctx := &ending{Context: t.Context(), after: 2}
	f, err := Create(ctx, filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if n, err := f.Write(make([]byte, 4*writeStep)); n != 2*writeStep || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes written, %v", n, err)
	}
	f.Discard()
	if got := golden.Names(t, dir); got != "" {
		t.Errorf("files: %s", got)
	}
}

// ending is a context that ends when its error has been asked for some times.
type ending struct {
	context.Context
	after int
}

func (e *ending) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}
