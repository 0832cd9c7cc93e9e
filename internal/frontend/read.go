package frontend

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ReadMapped reads a model that is one file. What read is given stays mapped until the model is closed.
func ReadMapped(path string, read func(data []byte) (*Model, error)) (*Model, error) {
	data, err := Map(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(err, Unmap(data)))
	}
	m.Close = func() error { return Unmap(data) }
	return m, nil
}

// ReadWithWeights reads a model that is a text at path with weights in another file, which find names. The weights stay mapped until the
// model is closed; of the text nothing may be kept.
func ReadWithWeights(path string, find func(path string) (string, error), read func(text, weights []byte) (*Model, error)) (*Model, error) {
	text, err := Map(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer Unmap(text)
	file, err := find(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	weights, err := Map(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: its weights: %s: %w", path, file, err)
	}
	m, err := read(text, weights)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(err, Unmap(weights)))
	}
	m.Files = func() []string { return []string{filepath.Base(file)} }
	m.Close = func() error { return Unmap(weights) }
	return m, nil
}
