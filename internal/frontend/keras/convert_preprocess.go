package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// preprocessRows are layers in front of a model. Those with random changes change nothing once a model is trained.
var preprocessRows = append([]row{
	{"Discretization", one(discretization)}, {"CategoryEncoding", one(categoryEncoding)}, {"IntegerLookup", one(integerLookup)},
}, untrainedRows()...)

func untrainedRows() (rows []row) {
	for _, class := range []string{"RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness", "RandomHeight", "RandomWidth",
		"RandomErasing", "RandomHue", "RandomSaturation", "RandomSharpness", "RandomShear", "RandomPosterization", "RandomGrayscale", "RandomColorJitter",
		"RandomColorDegeneration", "RandomGaussianBlur", "RandomInvert", "RandomPerspective", "RandomElasticTransform", "RandAugment", "AugMix", "CutMix", "MixUp"} {
		rows = append(rows, row{class, same})
	}
	return rows
}

// array is a number, or lists of numbers, as a constant.
func (c *call) array(v any, d types.DType) *graph.Value {
	var numbers []float64
	var shape []int
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		switch v := v.(type) {
		case []any:
			if depth == len(shape) {
				shape = append(shape, len(v))
			}
			if depth > 8 || shape[depth] != len(v) {
				compose.Fail("a list of %d where %v are", len(v), shape)
			}
			for _, x := range v {
				walk(x, depth+1)
			}
		case float64:
			numbers = append(numbers, v)
		case bool:
			if v {
				numbers = append(numbers, 1)
			} else {
				numbers = append(numbers, 0)
			}
		default:
			compose.Fail("%.40v where a number should be", v)
		}
	}
	walk(v, 0)
	if types.Count(shape) != len(numbers) {
		compose.Fail("lists of different lengths")
	}
	t := c.Zeros(d, shape...)
	for i, f := range numbers {
		t.SetFloat(i, f)
	}
	return compose.Const(t)
}

// discretization is how many boundaries are not greater than x.
func discretization(c *call) *graph.Value {
	x := c.X(0)
	c.Ignore("bin_boundaries", "num_bins", "epsilon")
	if !c.Has("bin_boundaries") {
		compose.Fail("it has no bin_boundaries")
	}
	if !x.Type.DType.IsFloat() {
		x = c.Cast(x, types.F32)
	}
	bounds := c.array(c.Values["bin_boundaries"], x.Type.DType)
	if bounds.Type.Rank() != 1 {
		compose.Fail("bin_boundaries %s", bounds.Type)
	}
	over := c.Do(ops.GreaterEqual, c.ExpandDims(x, x.Type.Rank()), bounds)
	bins := c.Reduce(ops.Sum, c.Cast(over, types.I64), false, x.Type.Rank())
	return c.encoded(bins, bounds.Type.Elements()+1, "int")
}

// encoded gives numbers below n in the form that output_mode names.
func (c *call) encoded(x *graph.Value, n int, absent string) *graph.Value {
	c.Ignore("sparse")
	mode := c.OneOf("output_mode", absent, "int", "one_hot", "multi_hot", "count")
	if mode == "int" {
		return x
	}
	if n < 1 || n > 1<<24 {
		compose.Fail("%d tokens", n)
	}
	rank := x.Type.Rank()
	one, zero := compose.Number(types.F32, 1), compose.Number(types.F32, 0)
	if mode == "one_hot" {
		if rank > 0 && x.Type.Shape[rank-1] == 1 {
			x = c.Squeeze(x, rank-1)
		}
		return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: n, Axis: x.Type.Rank()}, x, one, zero)
	}
	if rank == 0 {
		x, rank = c.Reshape(x, 1), 1
	}
	hot := c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: n, Axis: rank}, x, one, zero)
	if mode == "multi_hot" {
		return c.Reduce(ops.Max, hot, false, rank-1)
	}
	if w := c.operand("count_weights", 1); w != nil {
		hot = c.Do(ops.Multiply, hot, c.ExpandDims(c.Cast(w, types.F32), rank))
	}
	return c.Reduce(ops.Sum, hot, false, rank-1)
}

func categoryEncoding(c *call) *graph.Value {
	x := c.X(0)
	if !x.Type.DType.IsInt() {
		x = c.Cast(x, types.I64)
	}
	return c.encoded(x, c.Int("num_tokens", 0), "multi_hot")
}

// integerLookup is the place of a number in a vocabulary, behind the one of the mask's token and those of numbers that it lacks.
func integerLookup(c *call) *graph.Value {
	c.Ignore("max_tokens", "idf_weights", "pad_to_max_tokens", "vocabulary_dtype", "encoding", "vocabulary_size", "has_input_vocabulary", "oov_token", "vocabulary")
	x := c.Cast(c.X(0), types.I64)
	lacking, mask := c.Int("num_oov_indices", 1), c.Has("mask_token")
	token := c.Int("mask_token", 0)
	if c.Bool("invert", false) || lacking != 1 || !c.Has("vocabulary") {
		compose.Fail("inverted, without a vocabulary among its options, or with %d places for numbers that it lacks, it is not supported", lacking)
	}
	words := c.array(c.Values["vocabulary"], types.I64)
	n := words.Type.Elements()
	if words.Type.Rank() != 1 || n < 1 {
		compose.Fail("a vocabulary %s", words.Type)
	}
	integer := c.Str("output_mode", "int") == "int"
	first := 1
	if mask && integer {
		first = 2
	}
	same := c.Cast(c.Do(ops.Equal, c.ExpandDims(x, x.Type.Rank()), words), types.I64)
	known := c.Reduce(ops.Max, same, false, x.Type.Rank())
	place := c.Do(ops.Add, c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: x.Type.Rank()}, same), compose.Number(types.I64, float64(first)))
	place = c.Do(ops.Where, c.truth(known), place, compose.Number(types.I64, float64(first-1)))
	if mask && integer {
		place = c.Do(ops.Where, c.Do(ops.Equal, x, compose.Number(types.I64, float64(token))), compose.Number(types.I64, 0), place)
	}
	return c.encoded(place, n+1, "int")
}
