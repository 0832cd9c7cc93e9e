package tensorflow

import (
	"strings"
	"testing"

	"lathe/internal/tensor"
)

// TestOperators computes small graphs: y of what is in x, which is 1, 2, 3 and so on in a shape.
func TestOperators(t *testing.T) {
	i32 := "T: type: DT_INT32"
	for name, c := range map[string]struct {
		shape []int
		nodes []string
		want  []float64
	}{
		"StridedSlice": {[]int{3, 4}, []string{ints("b", []int{3}, -1, 0, 3), ints("e", []int{3}, 0, 0, 0), ints("s", []int{3}, -1, 1, -2),
			def("y", "StridedSlice", "x b e s", "new_axis_mask: i: 2", "end_mask: i: 4")}, []float64{12, 10, 8, 6}},
		"ShrinkEllipsis": {[]int{2, 2, 3}, []string{ints("b", []int{2}, 0, 1), ints("e", []int{2}, 0, 0), ints("s", []int{2}, 1, 1),
			def("y", "StridedSlice", "x b e s", "ellipsis_mask: i: 1", "shrink_axis_mask: i: 2")}, []float64{2, 5, 8, 11}},
		"Slice":     {[]int{3, 3}, []string{ints("b", []int{2}, 1, 0), ints("s", []int{2}, -1, 2), def("y", "Slice", "x b s")}, []float64{4, 5, 7, 8}},
		"SliceData": {[]int{4}, []string{def("k", "Cast", "at", "DstT: type: DT_INT32"), ints("zero", []int{1}, 0), ints("two", []int{1}, 2), ints("b1", []int{1}, 1), def("first", "Slice", "x zero b1"), def("at", "Identity", "first"), def("y", "Slice", "x k two")}, []float64{2, 3}},
		"MirrorPad": {[]int{1, 3}, []string{ints("p", []int{2, 2}, 0, 0, 2, 1), def("y", "MirrorPad", "x p", `mode: s: "SYMMETRIC"`)}, []float64{2, 1, 1, 2, 3, 3}},
		"PadV2":     {[]int{2}, []string{ints("p", []int{1, 2}, 1, 2), floats("v", nil, 9), def("y", "PadV2", "x p v")}, []float64{9, 1, 2, 9, 9}},
		"Roll":      {[]int{5}, []string{ints("s", []int{1}, 2), ints("a", []int{1}, 0), def("y", "Roll", "x s a")}, []float64{4, 5, 1, 2, 3}},
		"Reverse":   {[]int{2, 2}, []string{ints("a", []int{1}, -1), def("y", "ReverseV2", "x a")}, []float64{2, 1, 4, 3}},
		"Sequence":  {[]int{2, 3}, []string{ints("l", []int{2}, 2, 3), def("y", "ReverseSequence", "x l", "seq_dim: i: 1", "batch_dim: i: 0")}, []float64{2, 1, 3, 6, 5, 4}},
		"Blocks": {[]int{1, 2, 4, 1}, []string{ints("k", []int{2}, 2, 2), ints("p", []int{2, 2}, 0, 0, 0, 0), def("a", "SpaceToBatchND", "x k p"), ints("c", []int{2, 2}, 0, 1, 1, 0), def("y", "BatchToSpaceND", "a k c")},
			[]float64{2, 3, 4}},
		"DepthToSpace": {[]int{1, 1, 1, 8}, []string{def("y", "DepthToSpace", "x", "block_size: i: 2")}, []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		"SpaceToDepth": {[]int{1, 2, 2, 1}, []string{def("y", "SpaceToDepth", "x", "block_size: i: 2", `data_format: s: "NHWC"`)}, []float64{1, 2, 3, 4}},
		"GatherBatch":  {[]int{2, 3}, []string{ints("i", []int{2, 2}, 2, 0, 1, 1), ints("a", nil, 1), def("y", "GatherV2", "x i a", "batch_dims: i: 1")}, []float64{3, 1, 5, 5}},
		"GatherNd":     {[]int{2, 3}, []string{ints("i", []int{2, 2}, 0, 1, 1, 2), def("y", "GatherNd", "x i")}, []float64{2, 6}},
		"OneHot":       {[]int{1}, []string{ints("i", []int{3}, 1, -1, 5), ints("n", nil, 3), floats("on", nil, 2), floats("off", nil, 0), def("o", "OneHot", "i n on off"), def("y", "Mul", "o x")}, []float64{0, 2, 0, 0, 0, 0, 0, 0, 0}},
		"Stitch":       {[]int{2, 2}, []string{ints("a", []int{2}, 2, 0), ints("b", nil, 1), floats("r", []int{2}, 8, 9), def("y", "DynamicStitch", "a b x r")}, []float64{3, 4, 8, 9, 1, 2}},
		"Segments":     {[]int{3, 2}, []string{ints("i", []int{3}, 1, 1, 3), ints("n", nil, 4), def("y", "UnsortedSegmentSum", "x i n")}, []float64{0, 0, 4, 6, 0, 0, 5, 6}},
		"TopK":         {[]int{4}, []string{ints("k", nil, 2), def("t", "TopKV2", "x k"), def("i", "Cast", "t:1", "DstT: type: DT_FLOAT"), def("y", "AddV2", "t i")}, []float64{7, 5}},
		"Band":         {[]int{3, 3}, []string{ints("l", nil, 0), ints("u", nil, 1), def("y", "MatrixBandPart", "x l u")}, []float64{1, 2, 0, 0, 5, 6, 0, 0, 9}},
		"DiagPart":     {[]int{2, 3}, []string{def("y", "MatrixDiagPart", "x")}, []float64{1, 5}},
		"SetDiag":      {[]int{3, 2}, []string{floats("d", []int{2}, 8, 9), def("y", "MatrixSetDiag", "x d")}, []float64{8, 2, 3, 9, 5, 6}},
		"DiagV3":       {[]int{2}, []string{ints("k", nil, 0), ints("any", nil, -1), floats("p", nil, 0), def("y", "MatrixDiagV3", "x k any any p")}, []float64{1, 0, 0, 2}},
		"Cumsum":       {[]int{4}, []string{ints("a", nil, 0), def("y", "Cumsum", "x a", "exclusive: b: true", "reverse: b: true")}, []float64{9, 7, 4, 0}},
		"MeanInts":     {[]int{2}, []string{def("i", "Cast", "x", "DstT: type: DT_INT32"), ints("a", []int{1}, 0), def("m", "Mean", "i a", i32), def("y", "Cast", "m", "DstT: type: DT_FLOAT")}, []float64{1}},
		"ArgMax":       {[]int{2, 3}, []string{ints("a", nil, -1), def("m", "ArgMax", "x a"), def("y", "Cast", "m", "DstT: type: DT_FLOAT")}, []float64{2, 2}},
		"Select":       {[]int{2, 2}, []string{def("c", "Const", "", "value: tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false }", "dtype: type: DT_BOOL"), def("n", "Neg", "x"), def("y", "Select", "c x n")}, []float64{1, 2, -3, -4}},
		"NoNan":        {[]int{2}, []string{floats("d", []int{2}, 0, 4), def("y", "DivNoNan", "x d")}, []float64{0, 0.5}},
		"Clip":         {[]int{3}, []string{floats("lo", nil, 1.5), floats("hi", nil, 2.5), def("y", "ClipByValue", "x lo hi")}, []float64{1.5, 2, 2.5}},
		"Nearest":      {[]int{1, 1, 2, 1}, []string{ints("s", []int{2}, 1, 4), def("a", "ResizeNearestNeighbor", "x s"), def("b", "ResizeNearestNeighbor", "x s", "align_corners: b: true"), def("y", "AddV2", "a b")}, []float64{2, 2, 4, 4}},
		"Bilinear":     {[]int{1, 1, 2, 1}, []string{ints("s", []int{2}, 1, 4), def("y", "ResizeBilinear", "x s")}, []float64{1, 1.5, 2, 2}},
		"HalfPixels":   {[]int{1, 1, 2, 1}, []string{ints("s", []int{2}, 1, 4), def("y", "ResizeBilinear", "x s", "half_pixel_centers: b: true")}, []float64{1, 1.25, 1.75, 2}},
		"Area":         {[]int{1, 1, 4, 1}, []string{ints("s", []int{2}, 1, 2), def("y", "ResizeArea", "x s")}, []float64{1.5, 3.5}},
		"Crop": {[]int{1, 2, 2, 1}, []string{floats("b", []int{2, 4}, 0, 0, 1, 1, 0, 0, 0, 2), ints("i", []int{2}, 0, 0), ints("s", []int{2}, 1, 3), def("y", "CropAndResize", "x b i s", "extrapolation_value: f: -1")},
			[]float64{2, 2.5, 3, 1, 2, -1}},
		"AvgPool": {[]int{1, 1, 3, 1}, []string{def("y", "AvgPool", "x", "ksize: list { i: 1 i: 1 i: 2 i: 1 }", "strides: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "SAME"`)}, []float64{1.5, 2.5, 3}},
		"Argmax pool": {[]int{1, 2, 2, 2}, []string{def("p", "MaxPoolWithArgmax", "x", "ksize: list { i: 1 i: 2 i: 2 i: 1 }", "strides: list { i: 1 i: 2 i: 2 i: 1 }", `padding: s: "VALID"`), def("i", "Cast", "p:1", "DstT: type: DT_FLOAT"), def("y", "Mul", "p i")},
			[]float64{42, 56}},
		"Dilation":    {[]int{1, 1, 3, 1}, []string{floats("f", []int{1, 2, 1}, 0, 10), def("y", "Dilation2D", "x f", "strides: list { i: 1 i: 1 i: 1 i: 1 }", "rates: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "SAME"`)}, []float64{12, 13, 3}},
		"Patches":     {[]int{1, 2, 2, 1}, []string{def("y", "ExtractImagePatches", "x", "ksizes: list { i: 1 i: 2 i: 2 i: 1 }", "strides: list { i: 1 i: 1 i: 1 i: 1 }", "rates: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "VALID"`)}, []float64{1, 2, 3, 4}},
		"Transposed":  {[]int{1, 1, 2, 1}, []string{floats("f", []int{1, 2, 1, 1}, 1, 10), ints("s", []int{4}, 1, 1, 4, 1), def("y", "Conv2DBackpropInput", "s f x", "strides: list { i: 1 i: 1 i: 2 i: 1 }", `padding: s: "VALID"`)}, []float64{1, 10, 2, 20}},
		"Depthwise":   {[]int{1, 1, 1, 2}, []string{floats("f", []int{1, 1, 2, 2}, 1, 10, 100, 1000), def("y", "DepthwiseConv2dNative", "x f", "strides: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "VALID"`)}, []float64{1, 10, 200, 2000}},
		"Groups":      {[]int{1, 1, 1, 4}, []string{floats("f", []int{1, 1, 2, 2}, 1, 10, 1, 10), def("y", "Conv2D", "x f", "strides: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "VALID"`)}, []float64{3, 70}},
		"MatMul":      {[]int{1, 2}, []string{floats("b", []int{2, 2}, 1, 2, 3, 4), def("p", "MatMul", "x b"), def("q", "MatMul", "x b", "transpose_b: b: true"), def("y", "Sub", "p q")}, []float64{7 - 5, 10 - 11}},
		"Fourier":     {[]int{5}, []string{ints("n", []int{1}, 5), def("f", "RFFT", "x n"), def("y", "IRFFT", "f n", "T: type: DT_COMPLEX64")}, []float64{1, 2, 3, 4, 5}},
		"Spectrum":    {[]int{4}, []string{ints("n", []int{1}, 4), def("f", "RFFT", "x n"), def("y", "ComplexAbs", "f", "T: type: DT_COMPLEX64")}, []float64{10, 2.8284271, 2}},
		"FakeQuant":   {[]int{3}, []string{def("y", "FakeQuantWithMinMaxArgs", "x", "min: f: 0", "max: f: 2.55")}, []float64{1, 2, 2.55}},
		"Bucketize":   {[]int{4}, []string{def("b", "Bucketize", "x", "boundaries: list { f: 2 f: 3.5 }"), def("y", "Cast", "b", "DstT: type: DT_FLOAT")}, []float64{0, 1, 1, 2}},
		"Unique":      {[]int{1}, []string{ints("v", []int{4}, 7, 3, 7, 5), def("u", "Unique", "v"), def("f", "Cast", "u", "DstT: type: DT_FLOAT"), def("y", "Mul", "f x")}, []float64{7, 3, 5}},
		"ListDiff":    {[]int{1}, []string{ints("v", []int{4}, 0, 1, 2, 3), ints("w", []int{2}, 1, 3), def("u", "ListDiff", "v w"), def("f", "Cast", "u", "DstT: type: DT_FLOAT"), def("y", "Mul", "f x")}, []float64{0, 2}},
		"Lists":       {[]int{2, 2}, []string{ints("s", []int{1}, 2), ints("n", nil, 0), ints("one", nil, 1), def("l", "EmptyTensorList", "s n", "element_dtype: type: DT_FLOAT"), def("f", "TensorListFromTensor", "x s"), def("e", "TensorListGetItem", "f one s", "element_dtype: type: DT_FLOAT"), def("a", "TensorListPushBack", "l e"), def("b", "TensorListPushBack", "a e"), def("y", "TensorListStack", "b s")}, []float64{3, 4, 3, 4}},
		"Softmax":     {[]int{1, 2}, []string{def("z", "ZerosLike", "x"), def("y", "Softmax", "z")}, []float64{0.5, 0.5}},
		"LRN":         {[]int{1, 1, 1, 2}, []string{def("y", "LRN", "x", "depth_radius: i: 1", "bias: f: 1", "alpha: f: 1", "beta: f: 1")}, []float64{1.0 / 6, 2.0 / 6}},
		"BatchNormNC": {[]int{1, 2, 1, 1}, []string{floats("s", []int{2}, 2, 1), floats("o", []int{2}, 1, 0), floats("m", []int{2}, 0, 2), floats("v", []int{2}, 0, 1), def("y", "FusedBatchNormV3", "x s o m v", "is_training: b: false", "epsilon: f: 1", `data_format: s: "NCHW"`)}, []float64{3, 0}},
	} {
		t.Run(strings.ReplaceAll(name, " ", ""), func(t *testing.T) {
			// Operators whose results nobody reads are outputs too: y is the one that is compared.
			same(t, evaluate(t, text(append([]string{input("x", c.shape...)}, c.nodes...)...), upTo(c.shape...)), "y", c.want...)
		})
	}
}

// TestDequantize: the modes, of eight bits with and without sign.
func TestDequantize(t *testing.T) {
	bytes := func(typ string, v string) string {
		return def("q", "Const", "", "value: tensor { dtype: "+typ+" tensor_shape { dim { size: 2 } } "+v+" }", "dtype: type: "+typ)
	}
	for _, c := range []struct {
		typ, values, mode string
		lo, hi            float64
		want              []float64
	}{
		{"DT_QUINT8", "int_val: 0 int_val: 255", "MIN_COMBINED", -1, 1.55, []float64{-1, 1.55}},
		{"DT_QINT8", "int_val: -128 int_val: 127", "MIN_COMBINED", -1, 1.55, []float64{-1, 1.55}},
		{"DT_QUINT8", "int_val: 0 int_val: 255", "MIN_FIRST", -1, 1.55, []float64{-1, 1.55}},
		{"DT_QINT8", "int_val: -128 int_val: 127", "MIN_FIRST", -1, 1.55, []float64{-1, 1.55}},
		{"DT_QINT8", "int_val: -64 int_val: 127", "SCALED", -1, 1.27, []float64{-0.64, 1.27}},
	} {
		got := evaluate(t, text(input("x", 1), bytes(c.typ, c.values), floats("lo", nil, c.lo), floats("hi", nil, c.hi), def("d", "Dequantize", "q lo hi", `mode: s: "`+c.mode+`"`), def("y", "Mul", "d x")), upTo(1))
		same(t, got, "y", c.want...)
	}
}

// TestEquivalents compares operators with others that do the same.
func TestEquivalents(t *testing.T) {
	strides := "strides: list { i: 1 i: 1 i: 1 i: 1 }"
	filter := floats("f", []int{2, 2, 2, 3}, 1, -2, 3, 4, 5, -6, 7, 8, 9, 1, 2, -3, 4, 5, 6, -7, 8, 9, 1, 2, 3, 4, -5, 6)
	bias := floats("b", []int{3}, 10, -20, 30)
	for name, nodes := range map[string][]string{
		"explicit padding": {filter, ints("p", []int{4, 2}, 0, 0, 1, 2, 0, 1, 0, 0), def("q", "Pad", "x p"), def("one", "Conv2D", "q f", strides, `padding: s: "VALID"`),
			def("two", "Conv2D", "x f", strides, `padding: s: "EXPLICIT"`, "explicit_paddings: list { i: 0 i: 0 i: 1 i: 2 i: 0 i: 1 i: 0 i: 0 }")},
		"channels first": {filter, ints("to", []int{4}, 0, 3, 1, 2), ints("back", []int{4}, 0, 2, 3, 1), def("n", "Transpose", "x to"), def("c", "Conv2D", "n f", "strides: list { i: 1 i: 1 i: 2 i: 1 }", `padding: s: "SAME"`, `data_format: s: "NCHW"`),
			def("one", "Transpose", "c back"), def("two", "Conv2D", "x f", "strides: list { i: 1 i: 2 i: 1 i: 1 }", `padding: s: "SAME"`)},
		"fused": {filter, bias, def("c", "Conv2D", "x f", strides, `padding: s: "SAME"`), def("a", "BiasAdd", "c b"), def("one", "Relu", "a"),
			def("two", "_FusedConv2D", "x f b", strides, `padding: s: "SAME"`, "num_args: i: 1", `fused_ops: list { s: "BiasAdd" s: "Relu" }`)},
		"pad and convolve": {filter, ints("p", []int{4, 2}, 0, 0, 1, 1, 1, 0, 0, 0), def("q", "MirrorPad", "x p", `mode: s: "REFLECT"`), def("one", "Conv2D", "q f", strides, `padding: s: "VALID"`),
			def("two", "FusedPadConv2D", "x p f", strides, `padding: s: "VALID"`, `mode: s: "REFLECT"`)},
		"recurrent block": {ints("s", []int{3}, 3, 4, 2), def("seq", "Reshape", "x s"), floats("w", []int{3, 4}, .1, -.2, .3, .4, .5, -.6, .7, .8, .9, .1, .2, -.3), floats("none", []int{1}), floats("bias", []int{4}, .1, .2, .3, .4), floats("state", []int{4, 1}, .5, .25, -.5, 1),
			def("n", "Const", "", "value: tensor { dtype: DT_INT64 tensor_shape { } int64_val: 3 }", "dtype: type: DT_INT64"),
			def("block", "BlockLSTM", "n seq state state w none none none bias", "cell_clip: f: -1"), ints("axis", nil, 0), def("x3", "Unpack", "seq", "num: i: 3"),
			def("c0", "LSTMBlockCell", "x3 state state w none none none bias", "cell_clip: f: -1"), def("c1", "LSTMBlockCell", "x3:1 c0:1 c0:6 w none none none bias", "cell_clip: f: -1"),
			def("c2", "LSTMBlockCell", "x3:2 c1:1 c1:6 w none none none bias", "cell_clip: f: -1"), def("one", "Pack", "c0:6 c1:6 c2:6"), def("two", "Identity", "block:6")},
	} {
		t.Run(strings.ReplaceAll(name, " ", ""), func(t *testing.T) {
			got := evaluate(t, text(append([]string{input("x", 1, 3, 4, 2)}, nodes...)...), upTo(1, 3, 4, 2))
			if len(got["one"]) == 0 {
				t.Fatalf("outputs %v", got)
			}
			same(t, got, "two", got["one"]...)
		})
	}
}

// TestBoxes: the second box overlaps the first, which is better; the third stands alone.
func TestBoxes(t *testing.T) {
	boxes := floats("boxes", []int{3, 4}, 0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 2, 1, 3)
	nodes := []string{input("x", 3), boxes, ints("most", nil, 4), floats("overlap", nil, 0.5), floats("score", nil, 0.2), floats("sigma", nil, 0)}
	scores := numbers([]int{3}, 0.5, 0.4, 0.9)
	got := evaluate(t, text(append(nodes, def("y", "NonMaxSuppressionV4", "boxes x most overlap score", "pad_to_max_output_size: b: true"))...), scores)
	same(t, got, "y", 2, 0, 0, 0)
	same(t, got, "y:1", 2)
	got = evaluate(t, text(append(nodes, def("y", "NonMaxSuppressionV5", "boxes x most overlap score sigma", "pad_to_max_output_size: b: true"))...), scores)
	same(t, got, "y:1", 0.9, 0.5, 0, 0)
	shape := []string{ints("s4", []int{4}, 1, 3, 1, 4), ints("s3", []int{3}, 1, 3, 1), def("b4", "Reshape", "boxes s4"), def("x3", "Reshape", "x s3")}
	got = evaluate(t, text(append(append(nodes, shape...), def("y", "CombinedNonMaxSuppression", "b4 x3 most most overlap score", "clip_boxes: b: false"))...), scores)
	same(t, got, "y", 0, 2, 1, 3, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	same(t, got, "y:1", 0.9, 0.5, 0, 0)
	same(t, got, "y:3", 2)
}

// TestRandom: numbers are the same in every import, and in their range.
func TestRandom(t *testing.T) {
	graph := text(input("x", 1), ints("n", []int{1}, 100), def("r", "RandomUniform", "n", "dtype: type: DT_FLOAT", "seed: i: 7"), def("y", "Mul", "r x"))
	a, b := evaluate(t, graph, upTo(1)), evaluate(t, graph, tensor.Of([]int{1}, []float32{1}))
	same(t, b, "y", a["y"]...)
	for _, v := range a["y"] {
		if v < 0 || v >= 1 {
			t.Fatalf("%v is not in [0, 1)", v)
		}
	}
}
