// Package verify compares compiled code with the reference evaluation of the operators: it compiles, runs the package as a
// user would, and compares.
package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"lathe/internal/compile"
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Row compares one tensor of compiled code with the reference evaluation.
type Row struct {
	Name      string
	Nodes     []string
	RelL2     float64
	MaxAbs    float64
	Tolerance float64 // for RelL2
	OK        bool
	Note      string // why there is nothing to compare, or why the comparison says little
}

// networkFactor is how much more than one operator a whole network may differ, and approximateFactor how much more
// everything may at -O4, which computes functions approximately.
const (
	networkFactor     = 10
	approximateFactor = 10
	approximateLevel  = 4
)

// quantisedTolerance is for networks that round to quantised steps: where float32 and the reference's float64 fall on
// two sides of a tie they differ by a step, of 2^-8 of the range, and later layers carry it on. The operators by
// themselves have no such allowance.
const quantisedTolerance = 0.05

const quantisedNote = "the network rounds to quantised steps, which float32 and float64 may do differently; --per-op is exact about each operator"

func quantised(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool {
		if n.Op == ops.Quantize || n.Op == ops.Requantize {
			return true
		}
		return slices.ContainsFunc(n.Sub, quantised)
	})
}

// Network compiles g, runs it on inputs that are random but the same each time, and compares the outputs with the
// operators' own evaluation. It does not change g. It ends with ctx at once, whatever is running.
func Network(ctx context.Context, g *graph.Graph, o compile.Options) ([]Row, error) {
	return interruptible(ctx, o, func(o compile.Options) ([]Row, error) { return network(ctx, g, o) })
}

func network(ctx context.Context, g *graph.Graph, o compile.Options) ([]Row, error) {
	if err := referenceFits(g); err != nil {
		return nil, err
	}
	inputs := randomInputs(g)
	tiny := false // some value is a denormal that the code takes as zero
	res, err := compile.Compile(ctx, g.Clone(), o)
	if err != nil {
		return nil, err
	}
	flushes := res.Contents.Manifest.Options["denormals"] == string(compile.DenormalsFlush)
	got, err := Execute(res, inputs, o.Workers)
	if err != nil {
		return nil, fmt.Errorf("running the compiled model: %w", err)
	}
	res.Contents.Library, res.Contents.Params = nil, nil // the evaluation needs the memory
	next := progressOf(g, o, "reference")
	extents, err := compose.ExtentsOf(g)
	if err != nil {
		return nil, err
	}
	counts := map[*graph.Value]*tensor.Tensor{}
	want, err := grapheval.Watch(g, inputs, func(n *graph.Node, in, out []*tensor.Tensor) error {
		tiny = tiny || flushes && (slices.ContainsFunc(in, hasDenormal) || slices.ContainsFunc(out, hasDenormal))
		for _, d := range compose.DynamicResults(n) {
			counts[n.Out[d.Count]] = out[d.Count]
		}
		next(n)
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reference evaluation: %w", err)
	}
	var rows []Row
	for i, v := range g.Outputs {
		var nodes []string
		if v.Def != nil {
			nodes = v.Def.Origin
		}
		expected := Actual(want[i], extents[v], func(v *graph.Value) *tensor.Tensor { return counts[v] })
		allowed := networkFactor * toleranceAt(o.Level, expected.DType)
		steps := quantised(g)
		if steps {
			allowed = quantisedTolerance
		}
		row := compareRow(v.Name, nodes, expected, got[i], allowed)
		if tiny && !row.OK && row.Note == "" {
			row.Note = denormalNote
		}
		if steps && row.Note == "" {
			row.Note = quantisedNote
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Operators compiles every node of g by itself, runs it on the operands the reference evaluation of g gives it,
// and compares its results. It tells which operator is wrong, and misses what goes wrong between operators: fusion,
// layouts, memory, and iterations of loops, of whose bodies nodes are compared in the first one, and branches that the data do not take. A node that does not compile has a row
// that is not OK. It ends with ctx at once.
func Operators(ctx context.Context, g *graph.Graph, o compile.Options) ([]Row, error) {
	return interruptible(ctx, o, func(o compile.Options) ([]Row, error) { return operators(ctx, g, o) })
}

func operators(ctx context.Context, g *graph.Graph, o compile.Options) ([]Row, error) {
	if err := wantSingle(g); err != nil {
		return nil, err
	}
	if err := referenceFits(g); err != nil {
		return nil, err
	}
	single := o
	single.Code, single.PrintBefore, single.PrintAfter, single.Times, single.Progress = nil, nil, nil, nil, nil
	single.Debug = compile.Debug{}
	var rows []Row
	next, seen := progressOf(g, o, "operators"), map[*graph.Node]bool{}
	_, err := grapheval.Watch(g, randomInputs(g), func(n *graph.Node, in, out []*tensor.Tensor) error {
		next(n)
		if seen[n] || n.IsRegion() {
			return ctx.Err()
		}
		seen[n] = true
		got, err := runNode(ctx, n, in, single)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i, v := range n.Out {
			name := v.Name
			if name == "" {
				name = fmt.Sprintf("%s:%d", n.Op.Name, len(rows))
			}
			if err != nil {
				rows = append(rows, Row{Name: name, Nodes: n.Origin, Note: err.Error()})
				continue
			}
			rows = append(rows, compareRow(name, n.Origin, actualResult(n, out, i), got[i], toleranceAt(o.Level, v.Type.DType)))
		}
		return nil
	})
	return rows, err
}

// wantSingle reports what keeps nodes of g from being compiled each by itself: blocked layouts, which the caller's
// tensors do not have, and groups.
func wantSingle(g *graph.Graph) error {
	for _, n := range g.Nodes {
		blocked := slices.ContainsFunc(n.Out, func(v *graph.Value) bool { return v.Type.Layout != "" })
		for _, body := range n.Bodies() {
			if err := wantSingle(body); err != nil {
				return err
			}
		}
		if !n.IsRegion() && (blocked || len(n.Sub) > 0) {
			return fmt.Errorf("layouts are chosen or nodes fused already, at %s %v: compare the operators of the model, or of the dump of an earlier pass",
				n.Op.Name, n.Origin)
		}
	}
	return nil
}

// progressOf tells of the nodes of g that it is called with, and not of those in loops.
func progressOf(g *graph.Graph, o compile.Options, phase string) func(*graph.Node) {
	done := 0
	return func(n *graph.Node) {
		if done < len(g.Nodes) && g.Nodes[done] == n {
			done++
			if o.Progress != nil {
				o.Progress(phase, done, len(g.Nodes))
			}
		}
	}
}

// toleranceAt is that of one operator at an -O level.
func toleranceAt(level int, d types.DType) float64 {
	if level >= approximateLevel {
		return approximateFactor * tolerance(d)
	}
	return tolerance(d)
}

// runNode compiles a graph of n alone, whose constant operands stay constants, and runs it on the given operands.
func runNode(ctx context.Context, n *graph.Node, in []*tensor.Tensor, o compile.Options) ([]*tensor.Tensor, error) {
	g := &graph.Graph{Name: "main"}
	m := &graph.Node{Op: n.Op, Attrs: n.Attrs, Origin: slices.Clone(n.Origin), Impl: n.Impl}
	for _, s := range n.Sub {
		m.Sub = append(m.Sub, s.Clone())
	}
	var inputs []*tensor.Tensor
	made := map[*graph.Value]*graph.Value{}
	for i, v := range n.In {
		if made[v] == nil {
			if c := v.Value(); c != nil { // inference may need it
				made[v] = graph.NewConst(v.Name, c)
			} else {
				made[v] = g.Input(fmt.Sprintf("x%d", len(inputs)), v.Type.With(""))
				inputs = append(inputs, in[i])
			}
		}
		m.In = append(m.In, made[v])
	}
	for i, v := range n.Out {
		y := &graph.Value{Name: fmt.Sprintf("y%d", i), Type: v.Type, Def: m, Index: i}
		m.Out = append(m.Out, y)
		g.Outputs = append(g.Outputs, y)
	}
	g.Nodes = []*graph.Node{m}
	res, err := compile.Compile(ctx, g, o)
	if err != nil {
		return nil, err
	}
	return Execute(res, inputs, o.Workers)
}

func compareRow(name string, nodes []string, want, got *tensor.Tensor, allowed float64) Row {
	row := Row{Name: name, Nodes: nodes, Tolerance: allowed}
	var err error
	if row.RelL2, err = difference(want, got); err != nil {
		row.Note = err.Error()
		return row
	}
	row.MaxAbs = maxDifference(want, got)
	row.OK = row.RelL2 <= allowed
	if want.Len() > 0 && !hasFinite(want) {
		row.Note = "the reference has no finite element: the comparison says little"
	}
	return row
}

func hasFinite(t *tensor.Tensor) bool {
	for i := range t.Len() {
		if v := t.Float(i); !math.IsInf(v, 0) && v == v {
			return true
		}
	}
	return false
}

// randomInputs are random inputs for g, the same for the same graph: floats around zero, bytes of any value, other
// integers small and not negative, for they are mostly indices.
func randomInputs(g *graph.Graph) []*tensor.Tensor {
	r := rand.New(rand.NewPCG(1, 2))
	var list []*tensor.Tensor
	for _, v := range g.Inputs {
		t := tensor.NewOf(v.Type)
		for i := range t.Len() {
			switch d := t.DType; {
			case d.IsFloat():
				t.SetFloat(i, r.NormFloat64())
			case d == types.Bool:
				t.SetInt(i, int64(r.IntN(2)))
			case d.Size() == 1:
				t.SetInt(i, int64(r.IntN(256)))
			default:
				t.SetInt(i, int64(r.IntN(8)))
			}
		}
		list = append(list, t)
	}
	return list
}
