package tensorflow

import (
	"math"
	"math/rand/v2"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

var makeRows = []row{
	{"Shape", one(shapeOf)}, {"ShapeN", shapes}, {"Rank", one(func(c *call) *graph.Value { return compose.Number(types.I32, float64(c.Rank(0))) })}, {"Size", one(size)},
	{"Fill", one(fill)}, {"Range", one(rangeOf)}, {"LinSpace", one(linSpace)}, {"BroadcastArgs", one(broadcastArgs)}, {"Empty", one(empty)}, {"VariableShape", one(shapeOf)},
	{"VarIsInitializedOp", one(initialized)}, {"IsVariableInitialized", one(initialized)},
	{"RandomUniform", one(uniform)}, {"RandomStandardNormal", one(normal)}, {"TruncatedNormal", one(normal)}, {"RandomUniformInt", one(uniformInt)},
	{"StatelessRandomUniform", one(uniform)}, {"StatelessRandomUniformV2", one(uniform)}, {"StatelessRandomNormal", one(normal)}, {"StatelessRandomNormalV2", one(normal)},
}

func (c *call) shapeValue(i int) *graph.Value {
	return c.Cast(compose.Ints(c.Shape(i)...), c.typeOf("out_type", types.I32))
}

func shapeOf(c *call) *graph.Value { return c.shapeValue(0) }

// initialized: variables are constants, which have values.
func initialized(*call) *graph.Value { return compose.Number(types.Bool, 1) }

func shapes(c *call) values {
	var out values
	for i := range c.All() {
		out = append(out, c.shapeValue(i))
	}
	return out
}

func size(c *call) *graph.Value {
	return compose.Number(c.typeOf("out_type", types.I32), float64(c.X(0).Type.Elements()))
}

func fill(c *call) *graph.Value {
	shape, value := c.KnownInts(0, "the shape"), c.Scalar(c.X(1))
	if v := value.Value(); v != nil {
		return c.Filled(v, shape...)
	}
	return c.BroadcastTo(value, shape...)
}

func empty(c *call) *graph.Value {
	c.Ignore("init")
	return c.Full(c.typeOf("dtype", types.Invalid), 0, c.KnownInts(0, "the shape")...)
}

func rangeOf(c *call) *graph.Value {
	start, limit, delta := c.Known(0, "the start"), c.Known(1, "the limit"), c.Known(2, "the step")
	if start.Len() != 1 || limit.Len() != 1 || delta.Len() != 1 {
		compose.Fail("start, limit and step are numbers")
	}
	step := delta.Float(0)
	n := (limit.Float(0) - start.Float(0)) / step
	if !(n <= types.MaxElements) || step == 0 {
		compose.Fail("a range of %v numbers", n)
	}
	t := c.Zeros(start.DType, max(int(math.Ceil(n)), 0))
	for i := range t.Len() {
		if t.DType.IsInt() {
			t.SetInt(i, start.Int(0)+int64(i)*delta.Int(0))
		} else {
			t.SetFloat(i, start.Float(0)+float64(i)*step)
		}
	}
	return compose.Const(t)
}

func linSpace(c *call) *graph.Value {
	start, stop, n := c.KnownFloat(0, "the start"), c.KnownFloat(1, "the end"), c.KnownInt(2, "the number")
	if n < 1 {
		compose.Fail("%d numbers", n)
	}
	t := c.Zeros(c.X(0).Type.DType, n)
	for i := range n {
		t.SetFloat(i, start+(stop-start)*float64(i)/float64(max(n-1, 1)))
	}
	return compose.Const(t)
}

func broadcastArgs(c *call) *graph.Value {
	a, b := c.KnownInts(0, "a shape"), c.KnownInts(1, "a shape")
	for len(a) < len(b) {
		a = append([]int{1}, a...)
	}
	for len(b) < len(a) {
		b = append([]int{1}, b...)
	}
	out := make([]int, len(a))
	for i := range a {
		if a[i] != b[i] && a[i] != 1 && b[i] != 1 {
			compose.Fail("shapes %v and %v", a, b)
		}
		if out[i] = a[i]; a[i] == 1 {
			out[i] = b[i]
		}
	}
	return c.Cast(compose.Ints(out...), c.X(0).Type.DType)
}

// Random numbers are drawn when a model is imported, from the seeds that it gives, and are the same in every run.

func (c *call) drawn(d types.DType, draw func(r *rand.Rand) float64) *graph.Value {
	seed := rand.NewPCG(uint64(c.Int("seed", 0)), uint64(c.Int("seed2", 0)))
	c.Ignore("seed", "seed2")
	r := rand.New(seed)
	t := c.Zeros(d, c.KnownInts(0, "the shape")...)
	for i := range t.Len() {
		t.SetFloat(i, draw(r))
	}
	c.Note("%s: random numbers are drawn once, and are the same in every run", c.Node.Label())
	return compose.Const(t)
}

func uniform(c *call) *graph.Value {
	return c.drawn(c.typeOf("dtype", types.F32), func(r *rand.Rand) float64 { return r.Float64() })
}

// normal is without the numbers beyond two deviations where the node says so.
func normal(c *call) *graph.Value {
	truncated := c.Node.Op == "TruncatedNormal"
	return c.drawn(c.typeOf("dtype", types.F32), func(r *rand.Rand) float64 {
		for {
			if v := r.NormFloat64(); !truncated || math.Abs(v) <= 2 {
				return v
			}
		}
	})
}

func uniformInt(c *call) *graph.Value {
	lo, hi := c.KnownInt(1, "the least"), c.KnownInt(2, "the bound")
	if hi <= lo {
		compose.Fail("from %d up to %d", lo, hi)
	}
	return c.drawn(c.X(1).Type.DType, func(r *rand.Rand) float64 { return float64(lo + r.IntN(hi-lo)) })
}
