package bundle

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lathe/internal/tool/atomicfile"
)

// A File is one of several files that a compiled model consists of in formats that are no packages.
type File struct {
	Suffix string // of the name, with the dot
	Write  func(io.Writer) error
}

// WriteFiles writes the contents' files beside each other, the first of them at path. All are complete before the first gets its name.
func WriteFiles(path string, c *Contents) error {
	stem := strings.TrimSuffix(path, c.Files[0].Suffix)
	var files []*atomicfile.File
	for i, part := range c.Files {
		to := stem + part.Suffix
		if i == 0 {
			to = path
		}
		f, err := atomicfile.Create(c.context(), to)
		if err == nil {
			defer f.Discard()
			err = part.Write(f)
			files = append(files, f)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Base(to), err)
		}
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Base(f.Path), err)
		}
	}
	return nil
}
