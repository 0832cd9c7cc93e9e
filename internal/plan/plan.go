// Package plan decides where the values of a network lie and how its steps run beside each other: which values lie inside
// others, the places of the rest in one workspace, barriers between steps, and what each step's division among workers
// should know of those before it.
package plan

import (
	"slices"

	"lathe/internal/graph"
)

// A Step is a kernel as planning sees it, or a region: a loop, two branches, or what an external code generator may compute.
type Step struct {
	Node   *graph.Node    // the group that it computes a result of
	In     []*graph.Value // operands, in the order of the kernel's parameters; constants included
	Out    []*graph.Value // results, whose parameters follow
	Bodies []*Body        // of a region; none: a kernel

	Serial  bool  // one worker does all of it
	Periods []int // elements by which workers touch its parameters, as impl.Division has them; none: it is not known
}

// A Body is what a loop or a branch runs.
type Body struct {
	Boundary
	Steps   []Step
	Aliases *Aliases
}

// Values are what the step's kernel is called with, in the order of its parameters.
func (s Step) Values() []*graph.Value { return slices.Concat(s.In, s.Out) }

// A Boundary is what the caller of a network owns: its inputs and outputs, and the symbols in the run context that hold
// extents of outputs.
type Boundary struct{ Inputs, Outputs, Symbols []*graph.Value }

// Owned are the values whose memory is the caller's: it need not be aligned.
func (b Boundary) Owned() map[*graph.Value]bool {
	owned := map[*graph.Value]bool{}
	for v := range b.places() {
		owned[v] = true
	}
	return owned
}

func (b Boundary) places() map[*graph.Value]Place {
	at := map[*graph.Value]Place{}
	for i, v := range b.Inputs {
		at[v] = Place{Kind: Input, Index: i}
	}
	for i, v := range b.Outputs {
		at[v] = Place{Kind: Output, Index: i}
	}
	for i, v := range b.Symbols {
		at[v] = Place{Kind: Symbol, Index: i}
	}
	return at
}
