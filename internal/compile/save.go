package compile

import (
	"context"

	"lathe/internal/bundle"
	"lathe/internal/graph"
)

// Save compiles g like Compile and writes it to path like Write. Constants are packed only once: they are written while code is made from the network,
// whose weights they are.
func Save(ctx context.Context, g *graph.Graph, o Options, path string) (*Result, error) {
	d := &draft{path: path}
	defer d.discard()
	o.draft = d
	r, err := Compile(ctx, g, o)
	if err != nil {
		return nil, err
	}
	err = r.Write(ctx, path)
	r.Contents.Draft = nil
	return r, err
}

// A draft is where the constants of a network go as soon as they are known; a nil draft is nowhere.
type draft struct {
	path  string
	begun *bundle.Draft // nil: there is nothing to write before the code
}

// begin begins to write constants where they are a file or member by themselves.
func (d *draft) begin(j *job, constants []bundle.Param) (*bundle.Draft, error) {
	if d == nil || j.format.begin == nil || j.Weights == WeightsInside {
		return nil, nil
	}
	var err error
	d.begun, err = j.format.begin(j.ctx, d.path, constants)
	return d.begun, err
}

// discard ends what is being written.
func (d *draft) discard() {
	if d.begun != nil {
		d.begun.Discard()
	}
}
