package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
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
	if !c.Present(i) {
		compose.Fail("operand %d is missing", i)
	}
	elements, ok := c.Elements(c.In[i])
	if !ok {
		compose.Fail("operand %q is a tensor, not a sequence", c.Node.In[i])
	}
	return elements
}

// place is operand i as a position in n elements.
func (c *call) place(i, n int) int {
	at := c.KnownInt(i, "the position")
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		compose.Fail("position %d in a sequence of %s", c.KnownInt(i, "the position"), spelling.Count(n, "element"))
	}
	return at
}

func sequenceEmpty(c *call) values {
	c.Ignore("dtype")
	return values{c.List(nil)}
}

func sequenceConstruct(c *call) values { return values{c.List(slices.Clone(c.All()))} }

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
	if c.Present(2) {
		if at = c.KnownInt(2, "the position"); at < 0 {
			at += len(s)
		}
		if at < 0 || at > len(s) {
			compose.Fail("position %d in a sequence of %s", c.KnownInt(2, "the position"), spelling.Count(len(s), "element"))
		}
	}
	return values{c.List(slices.Insert(slices.Clone(s), at, c.X(1)))}
}

func sequenceErase(c *call) values {
	s := c.seq(0)
	at := len(s) - 1
	if c.Present(1) {
		at = c.place(1, len(s))
	}
	if at < 0 {
		compose.Fail("the sequence is empty")
	}
	return values{c.List(slices.Delete(slices.Clone(s), at, at+1))}
}

// splitToSequence cuts into parts of one size, or of given sizes. Without sizes the parts are single and lose the axis
// unless keepdims is set.
func splitToSequence(c *call) values {
	x := c.X(0)
	at := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	keep := c.Bool("keepdims", true)
	extent := x.Type.Shape[at]
	var sizes []int
	switch {
	case !c.Present(1) && extent > frontend.MaxIterations:
		compose.Fail("a sequence of %s is not supported; %d are", spelling.Count(extent, "element"), frontend.MaxIterations)
	case !c.Present(1):
		sizes = slices.Repeat([]int{1}, extent)
	case c.Rank(1) == 0:
		part := c.KnownInt(1, "split")
		if part < 1 || extent/part > frontend.MaxIterations {
			compose.Fail("split is %d: a sequence of more than %s is not supported", part, spelling.Count(frontend.MaxIterations, "element"))
		}
		for left := extent; left > 0; left -= part {
			sizes = append(sizes, min(part, left))
		}
		keep = true
	default:
		sizes, keep = c.KnownInts(1, "split"), true
	}
	if len(sizes) > frontend.MaxIterations {
		compose.Fail("a sequence of %s is not supported; %d are", spelling.Count(len(sizes), "element"), frontend.MaxIterations)
	}
	if len(sizes) == 0 {
		return values{c.List(nil)}
	}
	parts := slices.Clone(c.Split(x, at, sizes...))
	if !keep {
		for i, p := range parts {
			parts[i] = c.Squeeze(p, at)
		}
	}
	return values{c.List(parts)}
}

func concatFromSequence(c *call) *graph.Value {
	s := c.seq(0)
	if len(s) == 0 {
		compose.Fail("the sequence is empty, which is not supported")
	}
	rank := s[0].Type.Rank()
	if c.Bool("new_axis", false) {
		return c.Stack(frontend.Axis(c.Int("axis", 0), rank+1), s...)
	}
	return c.Concat(frontend.Axis(c.Int("axis", 0), rank), s...)
}

// sequenceMap applies its body to each element; operands after the first are sequences of as many elements, or one
// tensor for all.
func sequenceMap(c *call) values {
	body := c.Body("body")
	n := len(c.seq(0))
	out := make([]values, len(body.Outputs))
	for i := range n {
		var in values
		for k, v := range c.In {
			s, isSeq := c.Elements(v)
			switch {
			case isSeq && len(s) != n:
				compose.Fail("operand %d has %s, the first %d", k, spelling.Count(len(s), "element"), n)
			case isSeq:
				in = append(in, s[i])
			default:
				in = append(in, v)
			}
		}
		for k, v := range c.Inline(body, in) {
			out[k] = append(out[k], v)
		}
	}
	var lists values
	for _, o := range out {
		lists = append(lists, c.List(o))
	}
	return lists
}

func optional(c *call) values {
	c.Ignore("type")
	if c.Present(0) {
		return values{c.In[0]}
	}
	return values{c.List(nil)}
}

func optionalHasElement(c *call) values {
	has := 0.0
	if c.Present(0) {
		if elements, isList := c.Elements(c.In[0]); !isList || len(elements) > 0 {
			has = 1
		}
	}
	return values{compose.Number(types.Bool, has)}
}

func optionalGetElement(c *call) values {
	if !c.Present(0) {
		compose.Fail("the optional is empty")
	}
	return values{c.In[0]}
}
