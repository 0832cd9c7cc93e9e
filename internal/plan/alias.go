package plan

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Aliases let a value lie inside another one's memory: the operands of a concatenation are written where the result
// will be, and a reshape is its operand. Steps that have nothing left to do are not run.
type Aliases struct {
	Nothing []bool // step i has nothing left to do

	align int                   // of pieces of the workspace
	owned map[*graph.Value]bool // values in the caller's memory, which stay where they are
	of    map[*graph.Value]within
	holds map[*graph.Value]bool // values that others lie in
}

// put says that v lies in another value, or where that does.
func (a *Aliases) put(v *graph.Value, in within) {
	a.of[v] = in
	a.holds[in.root] = true
}

// within is the place of a value in bytes from the start of another, which is itself no alias.
type within struct {
	root   *graph.Value
	offset int
}

func (a *Aliases) at(v *graph.Value) within {
	if i, ok := a.of[v]; ok {
		return i
	}
	return within{root: v}
}

// free reports whether v may still be put anywhere: nobody else owns its memory and nothing lies in it yet.
func (a *Aliases) free(v *graph.Value) bool {
	if a.owned[v] || v.IsConst() || v.Def == nil {
		return false
	}
	if _, ok := a.of[v]; ok {
		return false
	}
	return !a.holds[v]
}

// FindAliases finds the values that can lie inside others. Later concatenations go first: an earlier one whose operands lie
// in order inside a later one's result is a part of it.
func FindAliases(b Boundary, steps []Step, rule Pieces) *Aliases {
	a := &Aliases{
		Nothing: make([]bool, len(steps)), align: rule.Align, owned: b.Owned(),
		of: map[*graph.Value]within{}, holds: map[*graph.Value]bool{},
	}
	for i, s := range slices.Backward(steps) {
		if s.isOnly(ops.Concatenate) {
			a.Nothing[i] = a.concat(s)
		}
	}
	for i, s := range steps {
		if s.isOnly(ops.Reshape) {
			a.Nothing[i] = a.reshape(s)
		}
	}
	return a
}

// isOnly reports whether a step computes one result by one operator.
func (s Step) isOnly(d *op.Def) bool {
	return len(s.Bodies) == 0 && len(s.Out) == 1 && len(s.Node.Sub) == 1 && len(s.Node.Sub[0].Nodes) == 1 && s.Node.Sub[0].Nodes[0].Op == d
}

// concat puts the operands into the result, one after the other, where that is how they lie in memory anyway.
func (a *Aliases) concat(s Step) bool {
	out := s.Out[0]
	if a.owned[out] || !joinsOutermost(s) {
		return false
	}
	operands := s.Node.In
	if first := a.at(operands[0]); first.root != operands[0] { // already inside a later result, in this order?
		end := first.offset
		for _, v := range operands {
			if p := a.at(v); p.root != first.root || p.offset != end {
				return false
			}
			end += v.Type.Bytes()
		}
		a.put(out, first)
		return true
	}
	end := 0
	seen := map[*graph.Value]bool{}
	for _, v := range operands {
		if !a.free(v) || seen[v] || end%a.align != 0 {
			return false
		}
		seen[v] = true
		end += v.Type.Bytes()
	}
	to := a.at(out)
	for _, v := range operands {
		a.put(v, to)
		to.offset += v.Type.Bytes()
	}
	return true
}

// joinsOutermost reports whether the result of a concatenation is the operands' bytes one after the other: all have its
// layout, and only physical axes of extent 1 precede the axis along which they differ.
func joinsOutermost(s Step) bool {
	out := s.Out[0].Type
	bytes := 0
	for _, v := range s.Node.In {
		if v.IsConst() || v.Type.Layout != out.Layout || v.Type.DType != out.DType {
			return false
		}
		bytes += v.Type.Bytes()
	}
	if bytes != out.Bytes() { // partial blocks do not join
		return false
	}
	dims := out.Dims()
	at := slices.IndexFunc(dims, func(n int) bool { return n > 1 })
	if at < 0 {
		return true
	}
	for _, v := range s.Node.In {
		d := v.Type.Dims()
		if types.Count(d[:at]) != 1 || !slices.Equal(d[at+1:], dims[at+1:]) {
			return false
		}
	}
	return true
}

// reshape makes the result the operand under another shape, when both are plain. What a group of constants alone gives is
// computed: it has no operand.
func (a *Aliases) reshape(s Step) bool {
	if len(s.Node.In) == 0 {
		return false
	}
	in, out := s.Node.In[0], s.Out[0]
	if in.Type.Layout != "" || out.Type.Layout != "" || in.IsConst() || a.owned[in] || in.Def == nil || a.owned[out] {
		return false
	}
	switch {
	case a.free(out):
		a.put(out, a.at(in))
	case a.free(in):
		a.put(in, a.at(out))
	default:
		return false
	}
	return true
}
