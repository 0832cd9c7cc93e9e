package positions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Table is what a calibration has found: the positions of the tensors of a package's regions. It holds for these regions with
// their weights, for any machine around the DPU.
type Table struct {
	Version int      `json:"version"`
	Samples int      `json:"samples"` // that were looked at
	Regions []Region `json:"regions"`
}

// A Region has the positions of a region's tensors.
type Region struct {
	Hash    string   `json:"hash"` // of the region's graph in the model's floats, constants included
	Tensors []Tensor `json:"tensors"`
}

// A Tensor has its position, and the means of its channels.
type Tensor struct {
	Name     string    `json:"name"` // of the model's value
	Position int       `json:"position"`
	Means    []float32 `json:"means,omitempty"` // nothing: they are not known
}

// Version is that of the tables that are written and read.
const Version = 1

// most bounds a position.
const most = 128

// Encode is the table as a file.
func (t *Table) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(t, "", "\t")
	return append(b, '\n'), err
}

// Decode reads a table.
func Decode(b []byte) (*Table, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	t := &Table{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("no table of positions: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("no table of positions: there is more behind it")
	}
	if t.Version != Version {
		return nil, fmt.Errorf("a table of positions of version %d; this program reads %d", t.Version, Version)
	}
	hashes := map[string]bool{}
	for _, r := range t.Regions {
		if hashes[r.Hash] {
			return nil, fmt.Errorf("a table of positions with region %.12q twice", r.Hash)
		}
		hashes[r.Hash] = true
		names := map[string]bool{}
		for _, v := range r.Tensors {
			if names[v.Name] {
				return nil, fmt.Errorf("a table of positions with %q twice", v.Name)
			}
			if names[v.Name] = true; v.Position < -most || v.Position > most {
				return nil, fmt.Errorf("a table of positions with %d for %q", v.Position, v.Name)
			}
		}
	}
	return t, nil
}

// Of gives what is known of a region's tensors, in the order of names. A table of another model is refused.
func (t *Table) Of(hash string, names []string) ([]Tensor, error) {
	for _, r := range t.Regions {
		if r.Hash != hash {
			continue
		}
		found := map[string]Tensor{}
		for _, v := range r.Tensors {
			found[v.Name] = v
		}
		list := make([]Tensor, len(names))
		for i, name := range names {
			p, ok := found[name]
			if !ok {
				return nil, fmt.Errorf("the table of positions has none for %q (calibrate again)", name)
			}
			list[i] = p
		}
		return list, nil
	}
	return nil, fmt.Errorf("the table of positions is of another model, or of other weights or options: it has no region %.12s (calibrate again)", hash)
}
