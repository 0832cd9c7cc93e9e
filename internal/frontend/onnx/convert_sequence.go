package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Sequences and optionals exist during the import only: a sequence is a list of values here, an optional is its value or
// an empty list. Positions have to be known.
var sequenceRows = []row{
	{"SequenceEmpty", "", 11, sequenceEmpty}, {"SequenceConstruct", "", 11, sequenceConstruct}, {"SequenceAt", "", 11, sequenceAt},
	{"SequenceLength", "", 11, sequenceLength}, {"SequenceInsert", "", 11, sequenceInsert}, {"SequenceErase", "", 11, sequenceErase},
	{"SplitToSequence", "", 11, splitToSequence}, {"ConcatFromSequence", "", 11, one(concatFromSequence)}, {"SequenceMap", "", 17, sequenceMap},
	{"Optional", "", 15, optional}, {"OptionalHasElement", "", 15, optionalHasElement}, {"OptionalGetElement", "", 15, optionalGetElement},
}

// seq is operand i, a sequence.
func (c *call) seq(i int) values {
	if !c.present(i) {
		compose.Fail("operand %d is missing", i)
	}
	elements, ok := c.lists[c.in[i]]
	if !ok {
		compose.Fail("operand %q is a tensor, not a sequence", c.node.Inputs[i])
	}
	return elements
}

// place is operand i as a position in n elements.
func (c *call) place(i, n int) int {
	at := c.knownInt(i, "the position")
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		compose.Fail("position %d in a sequence of %s", c.knownInt(i, "the position"), spelling.Count(n, "element"))
	}
	return at
}

func sequenceEmpty(c *call) values {
	c.ignore("dtype")
	return values{c.list(nil)}
}

func sequenceConstruct(c *call) values { return values{c.list(slices.Clone(c.all()))} }

func sequenceAt(c *call) values {
	s := c.seq(0)
	return values{s[c.place(1, len(s))]}
}

func sequenceLength(c *call) values {
	return values{compose.Const(tensor.Scalar(int64(len(c.seq(0)))))}
}

// sequenceInsert inserts before a position, which may be the end.
func sequenceInsert(c *call) values {
	s := c.seq(0)
	at := len(s)
	if c.present(2) {
		if at = c.knownInt(2, "the position"); at < 0 {
			at += len(s)
		}
		if at < 0 || at > len(s) {
			compose.Fail("position %d in a sequence of %s", c.knownInt(2, "the position"), spelling.Count(len(s), "element"))
		}
	}
	return values{c.list(slices.Insert(slices.Clone(s), at, c.x(1)))}
}

func sequenceErase(c *call) values {
	s := c.seq(0)
	at := len(s) - 1
	if c.present(1) {
		at = c.place(1, len(s))
	}
	if at < 0 {
		compose.Fail("the sequence is empty")
	}
	return values{c.list(slices.Delete(slices.Clone(s), at, at+1))}
}

// splitToSequence cuts into parts of one size, or of given sizes. Without sizes the parts are single and lose the axis
// unless keepdims is set.
func splitToSequence(c *call) values {
	x := c.x(0)
	at := axis(c.attrInt("axis", 0), x.Type.Rank())
	keep := c.attrBool("keepdims", true)
	extent := x.Type.Shape[at]
	var sizes []int
	switch {
	case !c.present(1) && extent > maxIterations:
		compose.Fail("a sequence of %s is not supported; %d are", spelling.Count(extent, "element"), maxIterations)
	case !c.present(1):
		sizes = slices.Repeat([]int{1}, extent)
	case c.rank(1) == 0:
		part := c.knownInt(1, "split")
		if part < 1 || extent/part > maxIterations {
			compose.Fail("split is %d: a sequence of more than %s is not supported", part, spelling.Count(maxIterations, "element"))
		}
		for left := extent; left > 0; left -= part {
			sizes = append(sizes, min(part, left))
		}
		keep = true
	default:
		sizes, keep = c.knownInts(1, "split"), true
	}
	if len(sizes) > maxIterations {
		compose.Fail("a sequence of %s is not supported; %d are", spelling.Count(len(sizes), "element"), maxIterations)
	}
	if len(sizes) == 0 {
		return values{c.list(nil)}
	}
	parts := slices.Clone(c.Split(x, at, sizes...))
	if !keep {
		for i, p := range parts {
			parts[i] = c.Squeeze(p, at)
		}
	}
	return values{c.list(parts)}
}

func concatFromSequence(c *call) *graph.Value {
	s := c.seq(0)
	if len(s) == 0 {
		compose.Fail("the sequence is empty, which is not supported")
	}
	rank := s[0].Type.Rank()
	if c.attrBool("new_axis", false) {
		return c.Stack(axis(c.attrInt("axis", 0), rank+1), s...)
	}
	return c.Concat(axis(c.attrInt("axis", 0), rank), s...)
}

// sequenceMap applies its body to each element; operands after the first are sequences of as many elements, or one
// tensor for all.
func sequenceMap(c *call) values {
	body := c.attrGraph("body")
	n := len(c.seq(0))
	out := make([]values, len(body.Outputs))
	for i := range n {
		var in values
		for k, v := range c.in {
			s, isSeq := c.lists[v]
			switch {
			case isSeq && len(s) != n:
				compose.Fail("operand %d has %s, the first %d", k, spelling.Count(len(s), "element"), n)
			case isSeq:
				in = append(in, s[i])
			default:
				in = append(in, v)
			}
		}
		for k, v := range c.inline(body, in) {
			out[k] = append(out[k], v)
		}
	}
	var lists values
	for _, o := range out {
		lists = append(lists, c.list(o))
	}
	return lists
}

func optional(c *call) values {
	c.ignore("type")
	if c.present(0) {
		return values{c.in[0]}
	}
	return values{c.list(nil)}
}

func optionalHasElement(c *call) values {
	has := 0.0
	if c.present(0) && !(c.isList(c.in[0]) && len(c.lists[c.in[0]]) == 0) {
		has = 1
	}
	return values{compose.Number(types.Bool, has)}
}

func optionalGetElement(c *call) values {
	if !c.present(0) {
		compose.Fail("the optional is empty")
	}
	return values{c.in[0]}
}
