package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"lathe/internal/frontend"
	"lathe/internal/tool/spelling"
)

// A fileSet holds the mappings behind a model: its own file and the files of external data, each mapped once.
type fileSet struct {
	dir    string            // where external data may lie; empty: nowhere
	root   *os.Root          // dir, opened on first use
	byName map[string][]byte // external files by location
	maps   [][]byte
}

// A location says where the elements of a tensor lie, as external_data does.
type location struct {
	name           string
	offset, length int64 // length -1: not given
}

// parseLocation reads the keys of external_data. The checksum is not verified: that would read all weights.
func parseLocation(entries []Entry) (location, error) {
	at := location{length: -1}
	for _, e := range entries {
		var err error
		switch e.Key {
		case "location":
			at.name = e.Value
		case "offset":
			at.offset, err = parseSize(e.Value)
		case "length":
			at.length, err = parseSize(e.Value)
		}
		if err != nil {
			return at, fmt.Errorf("external data: %s %q is not a size", e.Key, e.Value)
		}
	}
	if at.name == "" {
		return at, errors.New("external data without a location")
	}
	return at, nil
}

func parseSize(s string) (int64, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	return int64(v), err
}

// section returns size bytes of an external file, in place.
func (s *fileSet) section(at location, size int64) ([]byte, error) {
	if at.length >= 0 && at.length != size {
		return nil, fmt.Errorf("it takes %s, external data has %d", spelling.Count(size, "byte"), at.length)
	}
	data, err := s.open(at.name)
	if err != nil {
		return nil, fmt.Errorf("external data file %q: %w", at.name, err)
	}
	if end := int64(len(data)); at.offset > end || size > end-at.offset {
		return nil, fmt.Errorf("external data file %q: it needs %s from %d on, the file has %d: cut short, or of another model",
			at.name, spelling.Count(size, "byte"), at.offset, end)
	}
	return data[at.offset : at.offset+size : at.offset+size], nil
}

// open maps the external file of that name, or returns its mapping. The file has to lie in the model's folder, so
// that a model cannot read any other file of its user: no absolute path, no "..", no symbolic link that leads out.
func (s *fileSet) open(name string) ([]byte, error) {
	if data, ok := s.byName[name]; ok {
		return data, nil
	}
	if s.dir == "" {
		return nil, errors.New("only models read from a folder can have external data")
	}
	if !filepath.IsLocal(name) {
		return nil, errors.New("its path leads out of the model's folder, which is not allowed")
	}
	if s.root == nil {
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			return nil, frontend.Cause(err)
		}
		s.root = root
	}
	f, err := frontend.OpenRegular(func(flag int) (*os.File, error) { return s.root.OpenFile(name, flag, 0) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := frontend.MapFile(f)
	if err != nil {
		return nil, err
	}
	if s.byName == nil {
		s.byName = map[string][]byte{}
	}
	s.byName[name] = data
	s.maps = append(s.maps, data)
	return data, nil
}

func (s *fileSet) close() error {
	var errs []error
	for _, m := range s.maps {
		errs = append(errs, frontend.Unmap(m))
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	*s = fileSet{}
	return errors.Join(errs...)
}
