package compile

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/types"
)

// Aliases let a value lie inside another one's memory: the operands of a concatenation are written where the result
// will be, and a reshape is its operand. Kernels that have nothing left to do are not run.
type aliases struct {
	align int                   // of pieces of the workspace
	user  map[*graph.Value]bool // values in the caller's memory, and constants: they stay where they are
	of    map[*graph.Value]within
	holds map[*graph.Value]bool // values that others lie in
}

// put says that v lies in another value, or where that does.
func (a *aliases) put(v *graph.Value, in within) {
	a.of[v] = in
	a.holds[in.root] = true
}

// within is the place of a value in bytes from the start of another, which is itself no alias.
type within struct {
	root   *graph.Value
	offset int
}

func (a *aliases) at(v *graph.Value) within {
	if i, ok := a.of[v]; ok {
		return i
	}
	return within{root: v}
}

// free reports whether v may still be put anywhere: nobody else owns its memory and nothing lies in it yet.
func (a *aliases) free(v *graph.Value) bool {
	if a.user[v] || v.IsConst() || v.Def == nil {
		return false
	}
	if _, ok := a.of[v]; ok {
		return false
	}
	return !a.holds[v]
}

// alias finds the kernels that aliases make unnecessary and marks them. Later concatenations go first: an earlier one
// whose operands lie in order inside a later one's result is a part of it.
func (c *compiler) alias() *aliases {
	a := &aliases{align: c.pieceAlign(), user: map[*graph.Value]bool{}, of: map[*graph.Value]within{}, holds: map[*graph.Value]bool{}}
	for v := range c.userValues() {
		a.user[v] = true
	}
	for _, k := range slices.Backward(c.kernels) {
		if k.isOnly("concatenate") {
			k.nop = a.concat(k)
		}
	}
	for _, k := range c.kernels {
		if k.isOnly("reshape") {
			k.nop = a.reshape(k)
		}
	}
	return a
}

func (k *kernel) isOnly(op string) bool { return len(k.ops) == 1 && k.ops[0] == op && len(k.outs) == 1 }

// concat puts the operands into the result, one after the other, where that is how they lie in memory anyway.
func (a *aliases) concat(k *kernel) bool {
	out := k.outs[0]
	if a.user[out] || !joinsOutermost(k) {
		return false
	}
	operands := k.node.In
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
func joinsOutermost(k *kernel) bool {
	out := k.outs[0].Type
	bytes := 0
	for _, v := range k.node.In {
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
	for _, v := range k.node.In {
		d := v.Type.Dims()
		if types.Count(d[:at]) != 1 || !slices.Equal(d[at+1:], dims[at+1:]) {
			return false
		}
	}
	return true
}

// reshape makes the result the operand under another shape, when both are plain.
func (a *aliases) reshape(k *kernel) bool {
	in, out := k.node.In[0], k.outs[0]
	if in.Type.Layout != "" || out.Type.Layout != "" || in.IsConst() || a.user[in] || in.Def == nil || a.user[out] {
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
