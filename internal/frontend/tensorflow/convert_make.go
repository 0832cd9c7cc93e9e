package tensorflow

import (
	"math"
	"math/rand/v2"

	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/types"
)

var makeRows = []row{
	{"Shape", one(shapeOf)}, {"ShapeN", shapes}, {"Rank", shared(tfops.Rank)}, {"Size", one(size)},
	{"Fill", shared(tfops.Fill)}, {"Range", shared(tfops.Range)}, {"LinSpace", one(linSpace)}, {"BroadcastArgs", shared(tfops.BroadcastArgs)}, {"Empty", one(empty)}, {"VariableShape", one(shapeOf)},
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

func empty(c *call) *graph.Value {
	c.Ignore("init")
	return c.Full(c.typeOf("dtype", types.Invalid), 0, c.KnownInts(0, "the shape")...)
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
