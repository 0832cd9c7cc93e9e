package tensorflow

import (
	"errors"
	"fmt"
	"path/filepath"

	"lathe/internal/frontend"
)

// files are those of a model, mapped until it is closed.
type files struct {
	dir        string
	weights    frontend.Weights
	checkpoint string   // path of one to take instead of that of the model, without what its files end with; or ""
	names      []string // paths
	mapped     [][]byte
}

// open maps a file by its path below the model's folder, which it must not leave.
func (f *files) open(name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("the file %q is outside of the model's folder", name)
	}
	return f.take(filepath.Join(f.dir, name))
}

func (f *files) take(path string) ([]byte, error) {
	data, err := frontend.Map(path)
	if err != nil {
		return nil, err
	}
	f.names, f.mapped = append(f.names, path), append(f.mapped, data)
	return data, nil
}

// close ends the mappings.
func (f *files) close() error {
	var all []error
	for _, m := range f.mapped {
		all = append(all, frontend.Unmap(m))
	}
	f.mapped = nil
	return errors.Join(all...)
}
