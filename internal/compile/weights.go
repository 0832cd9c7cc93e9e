package compile

import (
	"bytes"
	"fmt"
	"io"

	"lathe/internal/bundle"
	"lathe/internal/toolchain"
)

// Weights says where the constants of a module are.
type Weights int

// Places of constants.
const (
	WeightsByFormat Weights = iota
	WeightsBeside           // in mod.params
	WeightsInside           // linked into the code
)

// maxInside bounds weights that are linked in: code reaches its own data over at most 2 GB.
const maxInside = 1<<31 - 64<<20

// weightsSection is mod.params as a section of a library. The constants in it are aligned, so that code uses them in place.
func weightsSection(c *bundle.Contents) (toolchain.Section, error) {
	if size := bundle.ParamsSize(c.Params); size > maxInside {
		return toolchain.Section{}, fmt.Errorf("the weights take %d bytes and cannot be linked into the code, which takes at most %d: leave them beside it (--embed-params=false)", size, maxInside)
	}
	return toolchain.Section{
		Name: bundle.ParamsName, Loaded: true, Align: bundle.Alignment, Symbol: c.Manifest.WeightsSymbol(),
		Write: func(w io.Writer) error { return bundle.WriteParams(w, c.Params) },
	}, nil
}

// sections are the members of a package beside its library, which becomes a package by itself with them.
func sections(c *bundle.Contents) ([]toolchain.Section, error) {
	weights, err := weightsSection(c)
	if err != nil {
		return nil, err
	}
	manifest, err := c.Manifest.Marshal()
	if err != nil {
		return nil, err
	}
	graph, err := c.Graph.Marshal()
	if err != nil {
		return nil, err
	}
	text := func(name string, b []byte) toolchain.Section {
		return toolchain.Section{Name: name, Write: func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(b)); return err }}
	}
	return []toolchain.Section{weights, text(bundle.GraphName, graph), text(bundle.ManifestName, manifest)}, nil
}
