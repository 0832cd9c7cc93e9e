package frontend

import (
	"errors"
	"fmt"
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
