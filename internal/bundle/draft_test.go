package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lathe/internal/testkit/golden"
)

// TestDraft: a package that begins with its constants is the same as one that is written at once.
func TestDraft(t *testing.T) {
	dir := t.TempDir()
	for _, ending := range []string{".tar", ".so"} {
		whole, begun := filepath.Join(dir, "whole"+ending), filepath.Join(dir, "begun"+ending)
		if err := Write(whole, sampleContents()); err != nil {
			t.Fatal(err)
		}
		c := sampleContents()
		d, err := Begin(t.Context(), begun, c.Params)
		if err != nil {
			t.Fatal(err)
		}
		c.Draft = d
		wantError(t, Write(whole, c), "written to "+begun)
		if err := Write(begun, c); err != nil {
			t.Fatal(err)
		}
		d.Discard()
		checkPackage(t, begun)
	}
	for _, ending := range []string{".tar", ".so", ".json", ".params", ".lathe.json"} {
		a, err := os.ReadFile(filepath.Join(dir, "whole"+ending))
		b, errB := os.ReadFile(filepath.Join(dir, "begun"+ending))
		if err != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", ending, err, errB)
		}
	}
}

// TestDraftEnds: what is discarded, cannot be made or is interrupted leaves no file.
func TestDraftEnds(t *testing.T) {
	dir := t.TempDir()
	bad := errors.New("no weights today")
	for _, ending := range []string{".tar", ".so"} {
		path := filepath.Join(dir, "x"+ending)
		d, err := Begin(t.Context(), path, sampleParams())
		if err != nil {
			t.Fatal(err)
		}
		d.Discard()
		for name, write := range map[string]func(ctx context.Context, cancel func()) error{
			bad.Error():              func(context.Context, func()) error { return bad },
			context.Canceled.Error(): func(_ context.Context, cancel func()) error { cancel(); return nil },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			c := sampleContents()
			data := c.Params[1].Data
			c.Params[1].Data, c.Params[1].Write = nil, func(w io.Writer) error {
				if err := write(ctx, cancel); err != nil {
					return err
				}
				_, err := w.Write(data)
				return err
			}
			if c.Draft, err = Begin(ctx, path, c.Params); err != nil {
				t.Fatal(err)
			}
			wantError(t, Write(path, c), path, name)
			c.Draft.Discard()
			cancel()
		}
	}
	if _, err := Begin(t.Context(), filepath.Join(dir, "no", "x.tar"), sampleParams()); err == nil {
		t.Error("no error about a folder that does not exist")
	}
	if got := golden.Names(t, dir); got != "" {
		t.Errorf("files: %s", got)
	}
}
