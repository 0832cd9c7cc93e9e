package dpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Table is what a calibration has found: the positions of a region's tensors. It holds for one region in the model's floats, and for any DPU.
type Table struct {
	Version   int             `json:"version"`
	Region    string          `json:"region"`  // the structural hash of the region's graph with its constants
	Samples   int             `json:"samples"` // that were looked at
	Positions []NamedPosition `json:"positions"`
}

// A NamedPosition is the position of the tensor that a value of the model is.
type NamedPosition struct {
	Tensor   string `json:"tensor"`
	Position int    `json:"position"`
}

const tableVersion = 1

// maxPosition bounds what a table may say.
const maxPosition = 128

// NewTable is the table of a network, given the positions of its tensors.
func (n *Network) NewTable(region string, samples int, positions []int) *Table {
	t := &Table{Version: tableVersion, Region: region, Samples: samples}
	for i, p := range positions {
		t.Positions = append(t.Positions, NamedPosition{n.Tensors[i].Name, p})
	}
	return t
}

// Encode is the table as a file.
func (t *Table) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(t, "", "\t")
	return append(b, '\n'), err
}

// DecodeTable reads a table.
func DecodeTable(b []byte) (*Table, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	t := &Table{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("no table of positions: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("no table of positions: there is more behind it")
	}
	if t.Version != tableVersion {
		return nil, fmt.Errorf("a table of version %d; this version reads %d", t.Version, tableVersion)
	}
	seen := map[string]bool{}
	for _, p := range t.Positions {
		if seen[p.Tensor] {
			return nil, fmt.Errorf("a table with two positions of %q", p.Tensor)
		}
		if seen[p.Tensor] = true; p.Position < -maxPosition || p.Position > maxPosition {
			return nil, fmt.Errorf("a table with position %d of %q", p.Position, p.Tensor)
		}
	}
	return t, nil
}

// For gives the positions of a network's tensors. A table of another region is refused.
func (t *Table) For(n *Network, region string) ([]int, error) {
	if t.Region != region {
		return nil, fmt.Errorf("the table is of another model or of other weights: its region is %.12s, this one's %.12s (calibrate again)", t.Region, region)
	}
	byName := map[string]int{}
	for _, p := range t.Positions {
		byName[p.Tensor] = p.Position
	}
	positions, missing := make([]int, len(n.Tensors)), []string{}
	for i, m := range n.Tensors {
		p, ok := byName[m.Name]
		if positions[i] = p; !ok {
			missing = append(missing, m.Name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("the table has no position of %s (calibrate again)", strings.Join(missing[:min(3, len(missing))], ", "))
	}
	return positions, nil
}
