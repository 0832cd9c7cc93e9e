package frontend

import (
	"context"
	"errors"
	"maps"
	"slices"

	"lathe/internal/graph"
)

// A Proposal says what to type for a model that Import refuses.
type Proposal struct {
	Shapes string       // a value of --input-shapes that the model is imported with, or "" when none was found
	Graph  *graph.Graph // what it is imported as
	// Next is another refusal than the first, with the sizes of Further, where no sizes were found that do.
	Next    error
	Further string
}

// Sizes that networks are made for, the likeliest first: of the sides of pictures, and of other axes.
var (
	sides   = []int{224, 256, 512, 640, 320, 128, 64, 32, 96, 1024, 16, 8}
	lengths = []int{512, 256, 128, 64, 32, 16, 8, 4, 2, 3, 1024, 2048, 4096, 16000, 224, 80}
)

// triedNodes bounds the work of Propose: how many nodes are imported, all tries together, of which there are at most 200.
const triedNodes = 200_000

// Propose looks for sizes with which a model is imported, in place of those that nobody gives: for each alone, for all axes
// of an input behind the first together, and for all together. What it finds works; what the model was made for, only
// its documentation knows.
func Propose(ctx context.Context, m *Model, o Options, refused error) Proposal {
	var p Proposal
	s, err := ShapesOf(m.Graph, o)
	if err != nil {
		return p
	}
	t := &trial{ctx: ctx, model: m, options: o, shapes: s, left: triedNodes, nodes: max(triedNodes/200, m.Graph.count()+len(m.Graph.Inputs)+len(m.Graph.Params))}
	free := t.variables()
	groups := make([][]variable, 0, len(free)+2)
	for _, v := range free {
		groups = append(groups, []variable{v})
	}
	byInput := map[string][]variable{}
	var all []variable
	for _, v := range free {
		if v.axis > 0 {
			byInput[v.input] = append(byInput[v.input], v)
			all = append(all, v)
		}
	}
	for _, in := range s.real {
		if len(byInput[in.Name]) > 1 {
			groups = append(groups, byInput[in.Name])
		}
	}
	groups = append(groups, all, free)
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		for _, n := range group[0].sizes() {
			if t.left -= t.nodes; t.left < 0 || ctx.Err() != nil {
				return p
			}
			with, line, err := t.try(group, n)
			if err == nil {
				var g *graph.Graph
				if g, err = Import(m, with); err == nil {
					return Proposal{Shapes: line, Graph: g}
				}
			}
			if p.Next == nil && line != "" && refusedAt(err) != refusedAt(refused) {
				p.Next, p.Further = err, line
			}
		}
	}
	return p
}

// refusedAt is the node that an error is about.
func refusedAt(err error) string {
	if e, ok := errors.AsType[*NodeError](err); ok {
		return e.inner().Node
	}
	return ""
}

// A trial imports a model with other sizes than 1.
type trial struct {
	ctx         context.Context
	model       *Model
	options     Options
	shapes      *Shapes
	left, nodes int
}

// A variable is a size that nobody gives: a symbol, as the axis of an input shows it, or that axis itself.
type variable struct {
	symbol string
	openAxis
	rank int
}

func (v variable) sizes() []int {
	if v.rank >= 4 && v.axis > 0 {
		return sides
	}
	return lengths
}

// variables lists the sizes that nobody gives, those of last axes first: the first is often the batch.
func (t *trial) variables() []variable {
	var list []variable
	given := map[string]bool{}
	for _, x := range t.shapes.Symbols {
		given[x.Name] = x.Given
	}
	for _, in := range t.shapes.real {
		for i, d := range in.Dims {
			v := variable{openAxis: openAxis{in.Name, i}, rank: len(in.Dims)}
			if slices.Contains(t.shapes.open, v.openAxis) {
				list = append(list, v)
				continue
			}
			for _, name := range t.shapes.symbolsOf(d) {
				if !given[name] {
					given[name] = true
					v.symbol = name
					list = append(list, v)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b variable) int { return min(b.axis, 1) - min(a.axis, 1) })
	return list
}

// try returns the options with one size for all of a group, and how to type them.
func (t *trial) try(group []variable, n int) (Options, string, error) {
	o := t.options
	o.Notes, o.Control, o.Context = nil, nil, t.ctx
	sizes := map[string]int{}
	for _, x := range t.shapes.Symbols {
		sizes[x.Name] = x.Size
	}
	axes := map[openAxis]bool{}
	for _, v := range group {
		if v.symbol != "" {
			sizes[v.symbol] = n
		} else {
			axes[v.openAxis] = true
		}
	}
	o.Sizes = maps.Clone(o.Sizes)
	if o.Sizes == nil {
		o.Sizes = map[string]int{}
	}
	for _, x := range t.shapes.Symbols {
		if !x.Given {
			o.Sizes[x.Name] = sizes[x.Name]
		}
	}
	o.Shapes = maps.Clone(o.Shapes)
	if o.Shapes == nil {
		o.Shapes = map[string][]int{}
	}
	for _, in := range t.shapes.real {
		if !slices.ContainsFunc(t.shapes.open, func(a openAxis) bool { return a.input == in.Name }) {
			continue
		}
		shape := slices.Clone(t.shapes.inputs[in.Name])
		for i, d := range in.Dims {
			if axes[openAxis{in.Name, i}] {
				shape[i] = n
			} else if e := t.shapes.exprs[d.Param]; e != nil && !d.Known() {
				var err error
				if shape[i], err = e.Eval(sizes); err != nil {
					return o, "", err
				}
			}
		}
		o.Shapes[in.Name] = shape
	}
	s, err := ShapesOf(t.model.Graph, o)
	if err != nil {
		return o, "", err
	}
	return o, s.lineOf(t.shapes.open), nil
}
