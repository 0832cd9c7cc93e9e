package impl

import (
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/types"
)

// An Algorithm is a way to compute something, with all that the compiler must know of it. It has a folder, and a line in
// algorithms.Table. What it leaves empty it has no part in.
type Algorithm struct {
	Rule    *Rule                                       // schedules kernels that were lowered from tensor expressions
	Externs map[*op.Def]Extern                          // kernels of operators
	Anchors map[*op.Def]func(Anchor) (*Plan, error)     // kernels of groups around operators; nil for layouts that are not served
	Layouts map[*op.Def]func(Layouts, int, *graph.Node) // gives layouts to nodes on blocks of so many channels
	Ways    func(*Node, Core) (ways []Way, why string)  // to compute a convolution or a product of bytes; why there are none, for people
	Tag     func(choice.Point) string                   // role of the stage of a node for which this was decided, or ""

	NodeDecisions, Decisions []DecisionInfo // what is asked for nodes, and for kernels
}

// Algorithms are a table of them; of those that serve the same, the first is preferred.
type Algorithms []Algorithm

// Layouts gives values of a graph their layouts.
type Layouts interface {
	Want(n *graph.Node, operand int, to types.Layout) // of an operand, by packing a constant or by a transform before n
	SetLayout(v *graph.Value, to types.Layout)
	Users(v *graph.Value) []*graph.Node
}

// Ask decides something for a node of the graph, and writes what was taken into it.
type Ask func(n *graph.Node, d choice.Decision) (taken string, err error)

// LayOut gives layouts to n and its operands; ok is false for operators of no algorithm.
func (all Algorithms) LayOut(l Layouts, lanes int, n *graph.Node) (ok bool) {
	for _, a := range all {
		if f := a.Layouts[n.Op]; f != nil {
			f(l, lanes, n)
			return true
		}
	}
	return false
}

// Tag is the role of the stage of a node for which p was decided, or "".
func (all Algorithms) Tag(p choice.Point) string {
	for _, a := range all {
		if a.Tag != nil && a.Tag(p) != "" {
			return a.Tag(p)
		}
	}
	return ""
}
