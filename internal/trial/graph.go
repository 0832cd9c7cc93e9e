package trial

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"lathe/internal/child"
	"lathe/internal/choice"
	"lathe/internal/compile"
)

// A Graphs races the network of a farm as it is decided on the graph by points, which are of whoever numbers decisions. It is a
// tune.NetworkRacer.
type Graphs struct {
	*Farm
	Network func(points map[int]choice.Point) ([]byte, error) // what builders read

	points map[int]choice.Point // of the package that stands
	path   string               // "": none
}

// Networks races the package by points against that of the farm.
func (g *Graphs) Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	if g.path == "" || !maps.EqualFunc(points, g.points, maps.Equal[choice.Point, choice.Point]) {
		if err := g.pack(ctx, points); err != nil {
			return nil, nil, err
		}
	}
	return g.duel(ctx, g.path, opens, pairs)
}

// apart opens a network in a process of its own, which is to be closed.
func (f *Farm) apart(ctx context.Context, network []byte) (*child.Process[question, answer], answer, error) {
	p, err := child.Start[question, answer](child.Command{Path: f.Program, Args: f.Builder})
	if err != nil {
		return nil, answer{}, err
	}
	a, err := p.Ask(ctx, question{Open: &opening{Network: network, Folder: f.folder, Prefix: "graph-"}}, openLimit)
	if err != nil {
		p.Close()
		return nil, a, fmt.Errorf("compiling the network: %w", err)
	}
	return p, a, nil
}

// Tasks lists the kernels of another network than the farm's.
func (f *Farm) Tasks(ctx context.Context, network []byte) ([]compile.Task, error) {
	p, a, err := f.apart(ctx, network)
	if err != nil {
		return nil, err
	}
	p.Close()
	return a.Tasks, nil
}

// pack compiles the network in a process of its own, which ends behind it.
func (g *Graphs) pack(ctx context.Context, points map[int]choice.Point) error {
	g.path = ""
	network, err := g.Network(points)
	if err != nil {
		return err
	}
	p, _, err := g.apart(ctx, network)
	if err != nil {
		return err
	}
	defer p.Close()
	path := filepath.Join(g.folder, "graph.tar")
	if _, err := p.Ask(ctx, question{Pack: &packing{Path: path}}, openLimit); err != nil {
		return fmt.Errorf("compiling the network: %w", err)
	}
	g.path, g.points = path, points
	return nil
}
