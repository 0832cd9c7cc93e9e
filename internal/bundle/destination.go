package bundle

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"lathe/internal/tool/atomicfile"
)

// A destination takes the members of a package, which appear at commit or not at all. Discarding what is committed does nothing.
type destination interface {
	member(p part) error
	commit() error
	discard()
}

// create begins a package: by its path the triple of NAME.so, or a tar.
func create(ctx context.Context, path string) (destination, error) {
	if stem, ok := strings.CutSuffix(path, ".so"); ok {
		return &triple{ctx: ctx, stem: stem}, nil
	}
	return createTar(ctx, path)
}

// A tarFile is a package in one file.
type tarFile struct {
	file *atomicfile.File
	w    tarWriter
}

func createTar(ctx context.Context, path string) (*tarFile, error) {
	f, err := atomicfile.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	return &tarFile{f, newTarWriter(f)}, nil
}

func (t *tarFile) member(p part) error { return t.w.member(p.name, p.size, p.write) }

func (t *tarFile) commit() error {
	if err := t.w.Close(); err != nil {
		return err
	}
	return t.file.Commit()
}

func (t *tarFile) discard() { t.file.Discard() }

// A triple is a package in files beside each other.
type triple struct {
	ctx     context.Context
	stem    string
	files   []*atomicfile.File
	library *atomicfile.File
}

func (t *triple) member(p part) error {
	f, err := atomicfile.Create(t.ctx, t.stem+suffixOf(p.name))
	if err != nil {
		return err
	}
	if p.name == LibraryName {
		t.library = f
	} else {
		t.files = append(t.files, f)
	}
	if err := p.write(f); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(f.Path), err)
	}
	return nil
}

// commit names the files only after all are complete, the library last: it is the one a reader opens.
func (t *triple) commit() error {
	for _, f := range append(t.files, t.library) {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (t *triple) discard() {
	for _, f := range append(t.files, t.library) {
		if f != nil {
			f.Discard()
		}
	}
}
