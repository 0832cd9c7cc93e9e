package fuzz

import (
	"slices"

	export "lathe/internal/export/onnx"
	"lathe/internal/types"
)

func moving(b *builder) []string {
	x, t := b.some(1, 5, append([]types.DType{types.U8, types.Bool}, numberTypes...)...)
	s, d := t.Shape, t.DType
	rank := len(s)
	k := b.IntN(rank)
	switch b.IntN(14) {
	case 0:
		shape := slices.Clone(s)
		shape[k] = -1
		if b.IntN(2) == 0 {
			shape[b.IntN(rank)] = 0
		}
		return []string{b.one("Reshape", []string{x, b.ints(shape...)})}
	case 1:
		return []string{b.one("Flatten", []string{x}, b.maybe("axis", b.axis(rank)))}
	case 2:
		if b.opset < 13 {
			return []string{b.one("Unsqueeze", []string{x}, at("axes", []int{k}))}
		}
		return []string{b.one("Unsqueeze", []string{x, b.ints(b.axis(rank + 1))})}
	case 3:
		return []string{b.one("Squeeze", []string{x})}
	case 4:
		return []string{b.one("Transpose", []string{x}, b.maybe("perm", b.Perm(rank)))}
	case 5:
		in := []string{x}
		for range b.IntN(4) {
			t := slices.Clone(s)
			t[k] = b.extent()
			in = append(in, b.value(d, t...))
		}
		b.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		return []string{b.one("Concat", in, at("axis", k-rank*b.IntN(2)))}
	case 6:
		n := b.between(1, 3)
		if b.opset >= 18 {
			return b.node("Split", []string{x}, n, at("axis", k), at("num_outputs", n))
		}
		return b.node("Split", []string{x}, n, at("axis", k))
	case 7:
		if s[k] < 2 || b.opset < 13 {
			return nil
		}
		cut := b.between(0, s[k])
		return b.node("Split", []string{x, b.ints(cut, s[k]-cut)}, 2, at("axis", k-rank))
	case 8, 9:
		if b.IntN(3) == 0 {
			return []string{b.one("Slice", []string{x, b.ints(-1), b.ints(-1 << 40), b.ints(k), b.ints(-1)})}
		}
		bounds := []int{0, 1, -1, 2, -2, s[k], -s[k] - 1, 1 << 40, -1 << 40}
		begin, end := bounds[b.IntN(len(bounds))], bounds[b.IntN(len(bounds))]
		return []string{b.one("Slice", []string{x, b.ints(begin), b.ints(end), b.ints(k - rank*b.IntN(2)), b.ints([]int{1, 1, 2, -1, -2, 7, -1 << 40}[b.IntN(7)])})}
	case 10, 11:
		in := []string{x, "", "", ""}
		pads := b.each(2*rank, -1, 3)
		if b.IntN(3) == 0 { // a shift
			pads = make([]int, 2*rank)
			pads[k] = b.between(-2, 2)
			pads[rank+k] = -pads[k]
		}
		if b.opset >= 18 && b.IntN(3) == 0 {
			pads = b.each(2, -1, 3)
			in[3] = b.ints(k)
		}
		in[1] = b.ints(pads...)
		if b.IntN(2) == 0 {
			in[2] = b.number(d, 1)
		}
		return []string{b.one("Pad", in, b.maybe("mode", b.word("constant", "reflect", "edge", "wrap")))}
	case 12:
		if b.IntN(2) == 0 {
			return []string{b.one("Tile", []string{x, b.ints(b.each(rank, 1, 3)...)})}
		}
		return []string{b.one("Expand", []string{b.value(d, b.stretched(s)...), b.ints(s...)})}
	}
	y, c := b.image(d, 2)
	if b.IntN(2) == 0 {
		return []string{b.one("SpaceToDepth", []string{y}, at("blocksize", b.between(1, 2)))}
	}
	_ = c
	return []string{b.one("DepthToSpace", []string{y}, at("blocksize", b.between(1, 2)), b.maybe("mode", b.word("DCR", "CRD")))}
}

func indexing(b *builder) []string {
	x, t := b.some(1, 4, numberTypes...)
	s, d := t.Shape, t.DType
	if t.Elements() == 0 {
		return nil
	}
	rank := len(s)
	k := b.IntN(rank)
	index := func(shape ...int) string { return b.value(b.dtype(types.I64, types.I64, types.I32), shape...) }
	switch b.IntN(9) {
	case 0:
		return []string{b.one("Gather", []string{x, index(b.shape(0, 3)...)}, b.maybe("axis", k-rank))}
	case 1:
		return []string{b.one("GatherElements", []string{x, index(s...)}, at("axis", k))}
	case 2:
		return []string{b.one("GatherND", []string{x, b.value(types.I64, b.between(1, 3), b.between(1, rank))})}
	case 3:
		return []string{b.one("ScatterElements", []string{x, index(s...), b.value(d, s...)}, at("axis", k), b.maybe("reduction", b.word("none", "add", "mul", "max", "min")))}
	case 4:
		q := b.between(1, rank)
		n := b.between(1, 4)
		return []string{b.one("ScatterND", []string{x, b.value(types.I64, n, q), b.value(d, append([]int{n}, s[q:]...)...)})}
	case 5:
		return b.node("TopK", []string{x, b.ints(b.between(1, s[k]))}, 2, at("axis", k), b.flag("largest"), b.flag("sorted"))
	case 6:
		return []string{b.one("OneHot", []string{index(b.shape(0, 2)...), b.number(types.I64, float64(b.between(1, 9))), b.value(d, 2)}, b.maybe("axis", -1))}
	case 7:
		return []string{b.one("Trilu", []string{b.value(d, append(b.shape(0, 1), b.extent(), b.extent())...), b.number(types.I64, float64(b.between(-3, 3)))}, b.flag("upper"))}
	}
	return []string{b.one("ReverseSequence", []string{b.value(d, 3, 4, b.extent()), b.ints(b.each(4, 1, 3)...)}, at("time_axis", 0), at("batch_axis", 1))}
}

func resizing(b *builder) []string {
	d := b.float()
	x, s := b.image(d, 2)
	if b.IntN(4) == 0 && b.opset >= 16 {
		return []string{b.one("GridSample", []string{x, b.value(d, s[0], b.between(1, 5), b.between(1, 5), 2)},
			b.maybe("padding_mode", b.word("zeros", "border", "reflection")), b.flag("align_corners"))}
	}
	mode := b.word("nearest", "linear", "cubic")
	attrs := []export.Attr{at("mode", mode), b.maybe("coordinate_transformation_mode", b.word("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")),
		b.maybe("nearest_mode", b.word("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))}
	if mode == "cubic" {
		attrs = append(attrs, b.flag("exclude_outside"), b.maybe("cubic_coeff_a", -0.5))
	}
	if b.opset >= 18 && mode != "nearest" {
		attrs = append(attrs, b.flag("antialias"))
	}
	if b.IntN(2) == 0 {
		to := slices.Clone(s)
		to[2], to[3] = b.between(1, 12), b.between(1, 12)
		return []string{b.one("Resize", []string{x, "", "", b.ints(to...)}, attrs...)}
	}
	scales := graphScales[b.IntN(len(graphScales))]
	return []string{b.one("Resize", []string{x, "", b.constant(floats(1, 1, scales[0], scales[1]))}, attrs...)}
}

var graphScales = [][2]float32{{2, 2}, {0.5, 0.5}, {1.5, 3}, {0.6, 1}, {1, 2}, {0.3, 2.7}}

// shapeArithmetic computes the shape of a Reshape or Expand, as exporters do.
func shapeArithmetic(b *builder) []string {
	x, _ := b.some(2, 4, types.F32)
	dims := b.one("Shape", []string{x})
	first := b.one("Gather", []string{dims, b.number(types.I64, 0)})
	first = b.one("Reshape", []string{first, b.ints(1)})
	switch b.IntN(3) {
	case 0:
		return []string{b.one("Reshape", []string{x, b.one("Concat", []string{first, b.ints(-1)}, at("axis", 0))})}
	case 1:
		zeros := b.one("ConstantOfShape", []string{dims})
		return []string{b.one("Add", []string{x, zeros})}
	}
	rest := b.one("Slice", []string{dims, b.ints(1), b.ints(1 << 30)})
	product := b.one("ReduceProd", []string{rest}, at("keepdims", 1))
	return []string{b.one("Reshape", []string{x, b.one("Concat", []string{first, product}, at("axis", 0))})}
}

func einsum(b *builder) []string {
	i, j, k, m := b.between(1, 9), b.between(1, 9), b.between(1, 9), b.between(1, 4)
	d := b.float()
	switch b.IntN(6) {
	case 0:
		return []string{b.one("Einsum", []string{b.value(d, i, j), b.value(d, j, k)}, at("equation", "ij,jk->ik"))}
	case 1:
		return []string{b.one("Einsum", []string{b.value(d, m, i, j), b.value(d, m, k, j)}, at("equation", "bij,bkj->bik"))}
	case 2:
		return []string{b.one("Einsum", []string{b.value(d, i, j)}, at("equation", b.word("ij->ji", "ij->i", "ij->", "ij->j")))}
	case 3:
		return []string{b.one("Einsum", []string{b.value(d, i, i)}, at("equation", b.word("ii->i", "ii", "ii->")))}
	case 4:
		return []string{b.one("Einsum", []string{b.value(d, m, i, j), b.value(d, j, k), b.value(d, k)}, at("equation", "mij,jk,k->mi"))}
	}
	return []string{b.one("Einsum", []string{b.value(d, m, i, j), b.value(d, m, j, k)}, at("equation", "...ij,...jk->...ik"))}
}

// dynamicExtent are operators whose results have as many elements as the data decide.
func dynamicExtent(b *builder) []string {
	x, _ := b.some(1, 4, types.F32, types.I32, types.Bool)
	switch b.IntN(3) {
	case 0:
		return []string{b.one("NonZero", []string{x})}
	case 1:
		n := b.between(1, 9)
		return []string{b.one("Compress", []string{b.value(types.F32, n, b.between(1, 5)), b.value(types.Bool, n)}, at("axis", 0))}
	}
	n := b.between(1, 12)
	return []string{b.one("NonMaxSuppression", []string{b.value(types.F32, 1, n, 4), b.value(types.F32, 1, b.between(1, 3), n), b.number(types.I64, float64(b.between(0, 5))),
		b.number(types.F32, 0.5), b.number(types.F32, 0.1)}, b.flag("center_point_box"))}
}
