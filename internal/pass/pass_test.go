package pass

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/pipeline"
	"lathe/internal/target"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/graphtest"
)

func TestTable(t *testing.T) {
	if err := pipeline.CheckOrder(Table, Order); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	for _, p := range Table {
		fmt.Fprintf(&b, "-O%d required=%v %s: %s\n", p.Level, p.Required, p.Name, p.Doc)
	}
	golden.Check(t, "passes", b.Bytes())
}

// machine has vectors of 8 floats and 16 registers.
var machine = &target.Target{Kind: "llvm", Arch: target.X86, VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}

// run runs the pass of the table with the given name.
func run(t testing.TB, name string, g *graph.Graph) {
	t.Helper()
	runIn(t, name, &Context{Graph: g, Target: machine, Level: 3})
}

// runIn is run in a context, in which somebody may decide.
func runIn(t testing.TB, name string, c *Context) {
	t.Helper()
	for _, p := range Table {
		if p.Name != name {
			continue
		}
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, c.Graph)
		}
		if err := Verify(&Context{Graph: c.Graph}); err != nil {
			t.Fatalf("after %s: %v\n%s", name, err, c.Graph)
		}
		return
	}
	t.Fatalf("no pass %q", name)
}

// TestGolden shows each pass on the smallest graph that needs it, and that it has nothing left to do.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ name, pass, text string }{
		{"batch_norm", "SimplifyInference", `graph main(%x: float32[1,2,3,3]) {
			@g = float32[2]{1, 2} @b = float32[2]{0, 1} @m = float32[2]{0.5, -0.5} @v = float32[2]{1, 4}
			%y = nn.batch_norm(%x, @g, @b, @m, @v) {axis=1, epsilon=0.00001} origin "BatchNormalization_0" return %y }`},
		{"int4", "LegalizeInt4", `graph main(%x: float32[4]) {
			@s = float32[]{0.5} @z = int4[]{1} @w = int4[2,3]{1, 2, 3, -4, -5, -6} @t = float32[2]{1, 2}
			%0 = qnn.quantize(%x, @s, @z) {axis=0, block_size=0, out_dtype=int4, rounding="half_even"}
			%1 = reshape(%0) {new_shape=[2,2]} %2 = qnn.dequantize(%1, @s, @z) {axis=0, block_size=0}
			%i = cast(%x) {dtype=int32} %3 = cast(%i) {dtype=uint4} %4 = cast(%3) {dtype=float32}
			%5 = transpose(@w) {axes=[1,0]} %6 = qnn.dequantize(%5, @t) {axis=1, block_size=0} return %2, %4, %6 }`},
		{"shifted_once", "QnnLegalize", `graph main(%x: float32[1,1,2,2], %y: float32[1,1,2,2]) {
			@s = float32[]{0.1} @z = int8[]{3} @w = int8[1,1,1,1]{2} @wz = int8[]{0}
			%0 = qnn.quantize(%x, @s, @z) {axis=0, block_size=0, out_dtype=int8, rounding="half_even"}
			%k = qnn.quantize(%y, @s, @z) {axis=0, block_size=0, out_dtype=int8, rounding="half_even"}
			%1 = qnn.conv2d(%0, @z, @w, @wz) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%2 = qnn.conv2d(%0, @z, @w, @wz) {strides=[2,2], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%3 = cast(%0) {dtype=int32} %4 = add(%1, %3)
			%5 = qnn.conv2d(%k, @z, @w, @wz) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %6 = abs(%k)
			return %4, %2, %5, %6 }`},
		{"explicit_padding", "FoldExplicitPadding", `graph main(%x: float32[1,2,5,5], %z: float32[1,2,5,5]) {
			@w = float32[2,2,3,3]{1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}
			%0 = nn.pad(%x) {pad_before=[0,0,1,2], pad_after=[0,0,1,0], mode="constant", value=0}
			%1 = nn.conv2d(%0, @w) {strides=[2,2], padding=[0,1,0,1], dilation=[1,1], groups=1}
			%2 = nn.relu(%x) %3 = nn.pad(%2) {pad_before=[0,0,1,1], pad_after=[0,0,1,1], mode="constant", value=0}
			%4 = nn.max_pool2d(%3) {pool_size=[3,3], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
			%5 = nn.pad(%z) {pad_before=[0,0,1,1], pad_after=[0,0,1,1], mode="constant", value=0}
			%6 = nn.max_pool2d(%5) {pool_size=[3,3], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
			%7 = nn.avg_pool2d(%5) {pool_size=[3,3], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false, count_include_pad=false}
			%8 = nn.avg_pool2d(%5) {pool_size=[3,3], strides=[2,2], padding=[1,1,1,1], dilation=[1,1], ceil_mode=false, count_include_pad=false}
			return %1, %4, %6, %7, %8 }`},
		{"padded_taps", "CutPaddedTaps", `graph main(%x: float32[1,2,1,1], %y: float32[1,1,3,4], %v: float32[2,2,3,3]) {
			@w = float32[2,2,3,3]{1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9} @k = float32[1,1,3,3]{1,2,3,4,5,6,7,8,9}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
			%1 = nn.conv2d(%y, @k) {strides=[1,1], padding=[3,3,3,3], dilation=[3,3], groups=1}
			%2 = nn.conv2d(%y, @k) {strides=[3,4], padding=[3,0,0,2], dilation=[1,1], groups=1}
			%3 = nn.conv2d(%x, %v) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
			return %0, %1, %2, %3 }`},
		{"bias", "FoldBias", `graph main(%x: float32[1,2,3,3]) {
			@w = float32[2,2,1,1]{1, 2, 3, 4} @b = float32[2,1,1]{1, -1} @row = float32[3]{1, 2, 3}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0" %1 = add(@b, %0) origin "Add_0"
			%2 = nn.conv2d_transpose(%1, @w) {strides=[2,2], padding=[0,0,0,0], output_padding=[0,0], dilation=[1,1], groups=1} %3 = add(%2, @b)
			%4 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %5 = add(%4, @row)
			%6 = nn.conv2d(%1, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %7 = add(%6, @b) %8 = nn.relu(%6)
			return %3, %5, %7, %8 }`},
		{"constant_matrices", "SimplifyExpr", `graph main(%x: float32[2,3,2], %y: float32[2,2]) {
			@w = float32[2,3]{1, 2, 3, 4, 5, 6} @one = float32[1]{1} @three = float32[1,1,1,1]{1}
			%0 = nn.matmul(%x, @w) {transpose_a=false, transpose_b=false} %1 = nn.matmul(%0, @w) {transpose_a=false, transpose_b=true}
			%2 = nn.matmul(%x, %y) {transpose_a=false, transpose_b=false} %3 = nn.matmul(%y, @w) {transpose_a=true, transpose_b=false}
			%4 = multiply(@one, %1) %5 = abs(%4) %6 = multiply(%5, @three) %7 = multiply(%2, @one)
			return %2, %3, %5, %6, %7 }`},
		{"keys_transposed", "PackOperands", `graph main(%q: float32[2,3,1,16], %k: float32[2,3,40,16], %h: float32[2,40,3,16], %t: float32[2,3,40,16]) {
			%0 = transpose(%k) {axes=[0,1,3,2]} %y = nn.matmul(%q, %0) {transpose_a=false, transpose_b=false}
			%1 = transpose(%h) {axes=[0,2,3,1]} %z = nn.matmul(%q, %1) {transpose_a=false, transpose_b=false}
			%2 = transpose(%t) {axes=[0,1,3,2]} %u = nn.matmul(%q, %2) {transpose_a=false, transpose_b=false} %v = abs(%2)
			return %y, %z, %u, %v }`},
		{"columns_as_rows", "PackOperands", `graph main(%x: float32[90,2], %w: float32[300,90], %b: float32[3,90,2], %v: float32[90,1], %c: float32[1,90]) {
			%y = nn.matmul(%x, %w) {transpose_a=true, transpose_b=true} %z = nn.matmul(%b, %w) {transpose_a=true, transpose_b=true}
			%u = nn.matmul(%v, %w) {transpose_a=true, transpose_b=true} %t = nn.matmul(%x, %c) {transpose_a=true, transpose_b=true}
			return %y, %z, %u, %t }`},
		{"split_sum", "SplitReductions", `graph main(%x: float32[8,4,20000]) {
			%0 = abs(%x) %y = sum(%0) {axis=[], keep_dims=false} %z = max(%x) {axis=[0,2], keep_dims=true} %m = mean(%x) {axis=[2], keep_dims=false}
			return %y, %z, %m }`},
		{"group_norm", "FuseNormalization", `graph main(%x: float32[2,4,300,300], %y: float32[1,4,90000], %g2: float32[4,1,1], %w: float32[2,1,720]) {
			@one = float32[1]{1} @zero = float32[1]{0} @two = float32[1]{2} @ones = float32[2]{1, 1} @zeros = float32[2]{0, 0} @g = float32[4,1,1]{1, 2, 3, 4} @b = float32[1,4,1,1]{4, 3, 2, 1} @c = float32[4,1]{1, 2, 3, 4}
			%0 = reshape(%x) {new_shape=[2,1,360000]} origin "Reshape_0" %1 = nn.instance_norm(%0, @one, @zero) {epsilon=0.001} origin "InstanceNormalization_1"
			%2 = reshape(%1) {new_shape=[2,4,300,300]} %3 = multiply(@g, %2) %4 = add(%3, @b) origin "Add_4"
			%5 = reshape(%y) {new_shape=[1,1,360000]} %6 = nn.instance_norm(%5, @one, @zero) {epsilon=0.001} %7 = reshape(%6) {new_shape=[1,4,90000]} %8 = add(%7, @c) %z = multiply(%8, @c)
			%9 = reshape(%x) {new_shape=[2,1,360000]} %10 = nn.instance_norm(%9, @one, @zero) {epsilon=0.001} %11 = reshape(%10) {new_shape=[2,4,300,300]} %12 = multiply(%11, %g2)
			%13 = reshape(%x) {new_shape=[2,1,360000]} %14 = nn.instance_norm(%13, @two, @zero) {epsilon=0.001} %15 = reshape(%14) {new_shape=[2,4,300,300]}
			%16 = reshape(%x) {new_shape=[2,2,180000]} %17 = nn.instance_norm(%16, @ones, @zeros) {epsilon=0.001} %18 = reshape(%17) {new_shape=[2,4,300,300]}
			%19 = reshape(%w) {new_shape=[2,1,720]} %20 = nn.instance_norm(%19, @one, @zero) {epsilon=0.001} %21 = reshape(%20) {new_shape=[2,1,720]}
			%22 = reshape(%x) {new_shape=[2,1,360000]} %23 = nn.instance_norm(%22, @one, @zero) {epsilon=0.001} %24 = reshape(%23) {new_shape=[2,4,300,300]} %25 = abs(%23)
			return %4, %z, %12, %15, %18, %21, %24, %25 }`},
		{"split_norm", "SplitReductions", `graph main(%x: float32[1,2,60000], %g: float32[2], %b: float32[2], %l: float32[3,20000], %h: float32[1,40,30,50], %s: float32[1,2,60]) {
			@one = float32[2]{1, 1} @zero = float32[2]{0, 0} @gamma = float32[1]{2} @scales = float32[40]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}
			%0 = nn.instance_norm(%x, %g, %b) {epsilon=0.001} origin "InstanceNormalization_0" %1 = nn.instance_norm(%x, @one, @zero) {epsilon=0.001}
			%2 = nn.layer_norm(%l, @gamma) {axis=1, epsilon=0.001} %3 = nn.group_norm(%h, @scales, @scales) {groups=1, epsilon=0.001}
			%4 = nn.group_norm(%h, @scales, @scales) {groups=2, epsilon=0.001} %5 = nn.instance_norm(%s, %g, %b) {epsilon=0.001}
			return %0, %1, %2, %3, %4, %5 }`},
		{"channels_last", "ConvertLayout", `graph main(%x: float32[1,3,3,2]) {
			@w = float32[2,2,1,1]{1, 2, 3, 4} @b = float32[2]{1, -1}
			%0 = transpose(%x) {axes=[0,3,1,2]} %1 = nn.conv2d(%0, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%2 = transpose(%1) {axes=[0,2,3,1]} %3 = add(%2, @b) origin "Add_1" %4 = nn.relu(%3) %5 = transpose(%4) {axes=[0,3,1,2]}
			%6 = nn.conv2d(%5, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_2"
			%7 = transpose(%6) {axes=[0,2,3,1]} %8 = concatenate(%4, %7) {axis=3} %y = mean(%8) {axis=[1,2], keep_dims=false} return %y }`},
		{"channels_last_read_twice", "ConvertLayout", `graph main(%x: float32[1,2,3,3]) {
			%0 = transpose(%x) {axes=[0,2,3,1]} %1 = exp(%0) %2 = transpose(%1) {axes=[0,3,1,2]} %y = nn.max_pool2d(%2) {pool_size=[2,2], strides=[1,1], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
			%z = reshape(%1) {new_shape=[18]} return %y, %z }`},
		{"channels_last_weights", "ConvertLayout", `graph main(%x: float32[1,2,3,3]) {
			@w = int8[2,1,1,2]{1, -2, 3, 4} @s = float32[2]{0.25, 0.5} @z = int8[2]{0, 0}
			%0 = qnn.dequantize(@w, @s, @z) {axis=0, block_size=0} %1 = transpose(%0) {axes=[0,3,1,2]}
			%y = nn.conv2d(%x, %1) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y }`},
		{"transposed_conv", "DecomposeConvTranspose", `graph main(%x: float32[1,1,2,2]) {
			@w = float32[1,1,2,2]{1, 2, 3, 4} @b = float32[1]{1}
			%0 = nn.conv2d_transpose(%x, @w, @b) {strides=[2,2], padding=[0,0,0,0], output_padding=[0,0], dilation=[1,1], groups=1} origin "ConvTranspose_0"
			%y = nn.relu(%0) origin "Relu_1" return %y }`},
		{"transposed_conv_phases", "DecomposeConvTranspose", `graph main(%x: float32[1,32,64,64], %w: float32[32,32,3,3]) {
			%0 = nn.conv2d_transpose(%x, %w) {strides=[2,2], padding=[1,1,1,1], output_padding=[1,1], dilation=[1,1], groups=1} origin "ConvTranspose_0"
			%y = nn.relu(%0) origin "Relu_1" return %y }`},
		{"quantized_conv", "FakeQuantizationToInteger", `graph main(%f: float32[1,2,3,3]) {
			@w = int8[2,2,1,1]{1, -2, 3, 4} @s = float32[]{0.5} @z = uint8[]{3} @sw = float32[2]{0.25, 0.5} @zw = int8[2]{0, 0} @b = float32[2]{1, -0.5} @sy = float32[]{2} @zy = uint8[]{7}
			%x = qnn.quantize(%f, @s, @z) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"}
			%0 = qnn.dequantize(%x, @s, @z) {axis=0, block_size=0} %1 = qnn.dequantize(@w, @sw, @zw) {axis=0, block_size=0}
			%2 = nn.conv2d(%0, %1, @b) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%3 = clip(%2) {min=0, max=6, has_min=true, has_max=true}
			%y = qnn.quantize(%3, @sy, @zy) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"} return %y }`},
		{"quantized_signed", "FakeQuantizationToInteger", `graph main(%x: float32[1,2,4,4]) {
			@s = float32[]{0.5} @z = int8[]{-3}
			%0 = qnn.quantize(%x, @s, @z) {axis=0, block_size=0, out_dtype=int8, rounding="half_even"}
			%1 = qnn.dequantize(%0, @s, @z) {axis=0, block_size=0}
			%2 = nn.max_pool2d(%1) {pool_size=[2,2], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
			%3 = reshape(%2) {new_shape=[8]} %y = exp(%3) return %y }`},
		{"quantized_average", "FakeQuantizationToInteger", `graph main(%f: float32[1,2,4,4]) {
			@s = float32[]{0.3} @z = uint8[]{7}
			%x = qnn.quantize(%f, @s, @z) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"}
			%0 = qnn.dequantize(%x, @s, @z) {axis=0, block_size=0}
			%1 = mean(%0) {axis=[2,3], keep_dims=true} origin "Mean_0"
			%y = qnn.quantize(%1, @s, @z) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"} return %y }`},
		{"quantized_stack", "FakeQuantizationToInteger", `graph main(%f: float32[2,3,2]) {
			@w = int8[2,4,2]{1, -2, 3, 4, 5, 6, 7, 8, -1, 2, -3, 4, 5, -6, 7, 9} @s = float32[]{0.5} @z = uint8[]{3} @sw = float32[]{0.25} @zw = int8[]{0} @sy = float32[]{2} @zy = uint8[]{7}
			%x = qnn.quantize(%f, @s, @z) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"}
			%0 = qnn.dequantize(%x, @s, @z) {axis=0, block_size=0} %1 = qnn.dequantize(@w, @sw, @zw) {axis=0, block_size=0}
			%2 = nn.matmul(%0, %1) {transpose_a=false, transpose_b=true} origin "MatMul_0"
			%y = qnn.quantize(%2, @sy, @zy) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"} return %y }`},
		{"legal_products", "QnnLegalize", `graph main(%f: float32[1,2,3,3]) {
			@z = int8[]{3} @w = uint8[2,2,1,1]{130, 131, 100, 120} @zw = uint8[2]{128, 120} @b = int32[2,1,1]{5, 6}
			%x = cast(%f) {dtype=int8}
			%0 = qnn.conv2d(%x, @z, @w, @zw) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1} origin "Conv_0"
			%y = add(%0, @b) return %y }`},
		{"wide_weights", "QnnLegalize", `graph main(%f: float32[1,2,3,3]) {
			@z = uint8[]{3} @w = uint8[2,2,1,1]{0, 255, 100, 120} @zw = uint8[]{151}
			%x = cast(%f) {dtype=uint8}
			%y = qnn.conv2d(%x, @z, @w, @zw) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1} origin "Conv_0" return %y }`},
		{"wide_weights_of_groups", "QnnLegalize", `graph main(%f: float32[1,4,3,3]) {
			@z = uint8[]{3} @w = uint8[2,2,1,1]{0, 255, 100, 120} @zw = uint8[]{151}
			%x = cast(%f) {dtype=uint8}
			%y = qnn.conv2d(%x, @z, @w, @zw) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=2} origin "Conv_0" return %y }`},
		{"wide_weights_of_windows", "QnnLegalize", `graph main(%f: float32[1,2,5,6]) {
			@z = uint8[]{3} @w = uint8[1,2,2,3]{0, 255, 100, 120, 1, 2, 3, 4, 250, 251, 7, 8} @zw = uint8[]{151}
			%x = cast(%f) {dtype=uint8}
			%y = qnn.conv2d(%x, @z, @w, @zw) {strides=[1,2], padding=[1,1,0,2], dilation=[2,1], groups=1} origin "Conv_0" return %y }`},
		{"computed_zero_point", "QnnLegalize", `graph main(%f: float32[3,2], %g: float32[], %h: float32[1,1,2,2]) {
			@w = uint8[2,2]{1, 200, 3, 4} @zw = uint8[]{20} @k = int8[1,1,3,3]{1, 2, 3, 4, 5, 6, 7, 8, 9} @zk = int8[]{0}
			%x = cast(%f) {dtype=uint8} %z = cast(%g) {dtype=uint8} %i = cast(%h) {dtype=uint8}
			%y = qnn.matmul(%x, %z, @w, @zw) origin "MatMulInteger_0"
			%c = qnn.conv2d(%i, %z, @k, @zk) {strides=[1,1], padding=[1,0,1,2], dilation=[1,1], groups=1} origin "ConvInteger_0" return %y, %c }`},
		{"packed_operand", "PackOperands", `graph main(%x: float32[40,50], %w: float32[30,50], %v: float32[1,50]) {
			%0 = nn.relu(%w) %y = nn.dense(%x, %0) %z = nn.matmul(%x, %0) {transpose_a=false, transpose_b=true} %u = nn.dense(%v, %w) return %y, %z, %u }`},
		{"few_columns", "PackOperands", `graph main(%x: float32[180,6,50], %v: float32[180,1,50], %u: float32[180,8,50]) {
			%y = nn.matmul(%x, %x) {transpose_a=false, transpose_b=true} %z = nn.matmul(%v, %x) {transpose_a=false, transpose_b=true}
			%w = nn.matmul(%u, %x) {transpose_a=false, transpose_b=true} return %y, %z, %w }`},
		{"half_products", "WidenProducts", `graph main(%x: float32[1,2,9,9], %h: float32[6,64], %k: float32[64,40]) {
			@w = float16[2,2,1,1]{1, 2, 3, 4} @b = float16[2]{0.5, -0.5} %0 = cast(%x) {dtype=float16} %1 = cast(%h) {dtype=bfloat16} %2 = cast(%k) {dtype=bfloat16}
			%3 = nn.conv2d(%0, @w, @b) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0" %y = nn.relu(%3)
			%z = nn.matmul(%1, %2) {transpose_a=false, transpose_b=false} origin "MatMul_1" return %y, %z }`},
		{"fold", "FoldConstant", `graph main(%x: float32[2]) {
			@a = float32[2]{1, 2} %0 = exp(@a) %1 = negative(%0) %y = add(%x, %1) return %y }`},
		{"common", "EliminateCommonSubexpr", `graph main(%x: float32[4]) {
			@p = float32[]{3} @q = float32[]{3} @r = float32[1]{3}
			%0 = tanh(%x) origin "Tanh_0" %1 = tanh(%x) origin "Tanh_1" %2 = exp(%0) %3 = exp(%1) %4 = sigmoid(%1) %5 = add(%2, %3) %y = add(%5, %4)
			%6 = subtract(%x, @p) %7 = subtract(%x, @q) %8 = subtract(%x, @r) %9 = multiply(%6, %7) %z = multiply(%9, %8) return %y, %z }`},
		{"not_common", "EliminateCommonSubexpr", `graph main(%x: float32[4,4]) {
			%0 = nn.softmax(%x) {axis=0} %1 = nn.softmax(%x) {axis=1} %2 = subtract(%0, %1) %3 = subtract(%1, %0) %y = multiply(%2, %3) return %y }`},
		{"scale", "FoldScaleAxis", `graph main(%x: float32[1,1,4,4]) {
			@w = float32[2,1,1,1]{1, 2} @b = float32[2]{1, -1} @s = float32[2,1,1]{10, 100}
			%0 = nn.conv2d(%x, @w, @b) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%y = multiply(%0, @s) origin "Mul_1" return %y }`},
		{"scale_read_twice", "FoldScaleAxis", `graph main(%x: float32[1,1,4,4]) {
			@w = float32[2,1,1,1]{1, 2} @s = float32[2,1,1]{10, 100}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%1 = multiply(%0, @s) %y = add(%0, %1) return %y }`},
		{"scale_before", "FoldScaleAxis", `graph main(%x: float32[1,2,4,4]) {
			@w = float32[1,2,1,1]{1, 2} @s = float32[1,2,1,1]{10, 100}
			%0 = multiply(%x, @s) origin "Mul_0"
			%y = nn.conv2d(%0, @w) {strides=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1} origin "Conv_1" return %y }`},
		{"scale_computed", "FoldScaleAxis", `graph main(%x: float32[1,2,4,4]) {
			@w = float32[1,2,1,1]{1, 2} %0 = mean(%x) {axis=[2,3], keep_dims=true} %1 = sigmoid(%0)
			%2 = multiply(%1, %x) origin "Mul_2"
			%y = nn.conv2d(%2, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_3" return %y }`},
		{"scale_of_batch", "FoldScaleAxis", `graph main(%x: float32[2,2,4,4], %s: float32[2,2,1,1]) {
			@w = float32[1,2,1,1]{1, 2} %0 = multiply(%x, %s)
			%y = nn.conv2d(%0, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y }`},
		{"scale_by_row", "FoldScaleAxis", `graph main(%x: float32[1,1,2,2]) {
			@w = float32[2,1,1,1]{1, 2} @s = float32[2,1]{10, 100}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%y = multiply(%0, @s) return %y }`},
		{"scale_raises_rank", "FoldScaleAxis", `graph main(%x: float32[1,1,2,2]) {
			@w = float32[2,1,1,1]{1, 2} @s = float32[1,1,1,1,1]{10}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%y = multiply(%0, @s) return %y }`},
		{"no_effect", "SimplifyExpr", `graph main(%x: float32[2,3]) {
			%0 = exp(%x) %1 = reshape(%0) {new_shape=[2,3]} %2 = transpose(%1) {axes=[0,1]} %3 = cast(%2) {dtype=float32} %y = tanh(%3) return %y }`},
		{"effect", "SimplifyExpr", `graph main(%x: float32[3,3]) {
			%0 = transpose(%x) {axes=[1,0]} %1 = reshape(%0) {new_shape=[9]} %y = cast(%1) {dtype=float64} return %y }`},
		{"reshapes", "SimplifyExpr", `graph main(%x: float32[1,4,3], %w: float32[3,3]) {
			@b = float32[3]{1, 2, 3}
			%0 = tanh(%x) %1 = transpose(%0) {axes=[1,0,2]} %2 = reshape(%1) {new_shape=[4,3]} %3 = nn.dense(%2, %w) %4 = add(%3, @b)
			%5 = reshape(%4) {new_shape=[4,1,3]} %6 = transpose(%5) {axes=[1,0,2]} %7 = add(%0, %6) origin "residual" %y = exp(%7) return %y }`},
		{"slices", "SimplifyExpr", `graph main(%x: float32[9,20]) {
			%0 = strided_slice(%x) {begin=[1,17], end=[9,1], strides=[1,-3]} %a = strided_slice(%0) {begin=[6,4], end=[-1,0], strides=[-2,-2]}
			%b = strided_slice(%0) {begin=[0,1], end=[8,2], strides=[3,1]} %c = exp(%0) return %a, %b, %c }`},
		{"divisions", "SimplifyExpr", `graph main(%x: float32[3]) {
			@c = float32[]{1.5} @zero = float32[]{0} %a = divide(%x, @c) %e = erf(%a) %b = divide(%x, @c) %r = round(%b) %i = divide(%x, @zero) %t = tanh(%i)
			%0 = add(%e, %r) %y = add(%0, %t) return %y }`},
		{"cube", "SimplifyExpr", `graph main(%x: float32[3]) {
			@e = float32[]{3} %y = power(%x, @e) return %y }`},
		{"copied_outputs", "SimplifyExpr", `graph main(%x: float32[3]) {
			%0 = exp(%x) %a = copy(%0) %b = copy(%0) %c = copy(%x) return %a, %b, %c }`},
		{"short_lines", "ChooseImplementations", `graph main(%x: float32[1,2,3,3], %y: float32[1,2,1,16]) {
			@w = float32[3,2,1,3]{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9} @v = float32[1,2,1,3]{1, 2, 3, 4, 5, 6}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "to_one_pixel"
			%1 = nn.conv2d(%y, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "along_the_line"
			%2 = nn.conv2d(%x, @v) {strides=[1,1], padding=[1,0,1,0], dilation=[1,1], groups=1} origin "to_one_channel" return %0, %1, %2 }`},
		{"dead", "DeadCodeElimination", `graph main(%x: float32[3]) {
			%0 = exp(%x) %1 = tanh(%0) %y = negative(%0) return %y }`},
		{"layer_norm", "FuseNormalization", `graph main(%x: float32[2,3,4]) {
			@epsilon = float32[]{0.001} @gamma = float32[4]{1, 2, 3, 4} @beta = float32[4]{1, 0, 0, -1}
			%m = mean(%x) {axis=[2], keep_dims=true} %d = subtract(%x, %m) %s = multiply(%d, %d) %v = mean(%s) {axis=[2], keep_dims=true}
			%a = add(%v, @epsilon) %r = sqrt(%a) %q = divide(%d, %r) %g = multiply(%q, @gamma) %y = add(%g, @beta) origin "Add_5" return %y }`},
		{"layer_norm_parts_read", "FuseNormalization", `graph main(%x: float32[2,4]) {
			@epsilon = float32[]{0.001}
			%m = mean(%x) {axis=[1], keep_dims=true} %d = subtract(%x, %m) %s = multiply(%d, %d) %v = mean(%s) {axis=[1], keep_dims=true}
			%a = add(%v, @epsilon) %r = sqrt(%a) %y = divide(%d, %r) return %y, %r }`},
		{"rms_norm", "FuseNormalization", `graph main(%x: float32[2,4]) {
			@epsilon = float32[]{0.001} @gamma = float32[4]{1, 2, 3, 4}
			%s = multiply(%x, %x) %v = mean(%s) {axis=[1], keep_dims=true} %a = add(%v, @epsilon) %r = sqrt(%a) %i = reciprocal(%r)
			%q = multiply(%x, %i) %g = multiply(@gamma, %q) %y = add(%g, %x) return %y }`},
		{"attention", "FuseAttention", `graph main(%x: float32[5,1,48], %m: float32[1,1,1,5]) {
			@scale = float32[]{2} @low = float32[]{-1e9} %mask = less(%m, @scale)
			%q0 = strided_slice(%x) {begin=[0,0,0], end=[5,1,16], strides=[1,1,1]} %q1 = reshape(%q0) {new_shape=[5,2,8]} %q2 = transpose(%q1) {axes=[1,0,2]}
			%q3 = divide(%q2, @scale) %q = reshape(%q3) {new_shape=[1,2,5,8]}
			%k0 = strided_slice(%x) {begin=[0,0,16], end=[5,1,32], strides=[1,1,1]} %k1 = reshape(%k0) {new_shape=[1,5,2,8]} %k = transpose(%k1) {axes=[0,2,3,1]}
			%v0 = strided_slice(%x) {begin=[0,0,32], end=[5,1,48], strides=[1,1,1]} %v1 = reshape(%v0) {new_shape=[1,5,2,8]} %v = transpose(%v1) {axes=[0,2,1,3]}
			%s0 = nn.matmul(%q, %k) {transpose_a=false, transpose_b=false} origin "scores" %s = where(%mask, %s0, @low) %w = nn.softmax(%s) {axis=3} origin "weights"
			%y0 = nn.matmul(%w, %v) {transpose_a=false, transpose_b=false} origin "context" %y1 = transpose(%y0) {axes=[2,0,1,3]} %y = reshape(%y1) {new_shape=[5,16]} return %y }`},
		{"attention_split", "FuseAttention", `graph main(%x: float32[2,6,12]) {
			@scale = float32[]{1.5} %a, %b, %c = split(%x) {axis=2, sizes=[4,4,4]}
			%s = nn.matmul(%a, %b) {transpose_a=false, transpose_b=true} %d = divide(%s, @scale) %w = nn.softmax(%d) {axis=2}
			%y = nn.matmul(%w, %c) {transpose_a=false, transpose_b=false} return %y }`},
		{"attention_weights_read", "FuseAttention", `graph main(%q: float32[6,4], %k: float32[4,6], %v: float32[6,4]) {
			%s = nn.matmul(%q, %k) {transpose_a=false, transpose_b=false} %w = nn.softmax(%s) {axis=1}
			%y = nn.matmul(%w, %v) {transpose_a=false, transpose_b=false} return %y, %w }`},
		{"shuffle", "AbsorbChannelMoves", `graph main(%x: float32[1,2,3,3]) {
			@a = float32[3,2,1,1]{1, 2, 3, 4, 5, 6} @b = float32[3,2,1,1]{7, 8, 9, 10, 11, 12} @bias = float32[3]{1, 2, 3}
			@c = float32[3,3,1,1]{1, 2, 3, 4, 5, 6, 7, 8, 9} @d = float32[6,1,1,1]{1, 2, 3, 4, 5, 6} @e = float32[1,6,1,1]{1, 2, 3, 4, 5, 6}
			%0 = nn.conv2d(%x, @a, @bias) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %1 = nn.relu(%0)
			%2 = nn.conv2d(%x, @b) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
			%3 = concatenate(%1, %2) {axis=1} %4 = reshape(%3) {new_shape=[1,2,3,3,3]} %5 = transpose(%4) {axes=[0,2,1,3,4]} %6 = reshape(%5) {new_shape=[1,6,3,3]}
			%7, %8 = split(%6) {axis=1, sizes=[3,3]}
			%9 = nn.conv2d(%8, @c) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_9"
			%10 = concatenate(%7, %9) {axis=1}
			%11 = nn.conv2d(%10, @d) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=6} origin "Depthwise_11"
			%12 = nn.conv2d(%11, @e) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_12"
			%13 = nn.conv2d(%10, @e) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_13"
			%y = add(%12, %13) return %y }`},
		{"channel_twice", "AbsorbChannelMoves", `graph main(%x: float32[1,8,3,3]) {
			@d = float32[3,1,1,1]{1, 2, 3} @e = float32[1,3,1,1]{1, 2, 3}
			%0 = strided_slice(%x) {begin=[0,3,0,0], end=[1,4,3,3], strides=[1,1,1,1]}
			%1 = strided_slice(%x) {begin=[0,2,0,0], end=[1,4,3,3], strides=[1,1,1,1]} %2 = concatenate(%0, %1) {axis=1}
			%3 = nn.conv2d(%2, @d) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=3}
			%y = nn.conv2d(%3, @e) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y }`},
		{"shuffled_output", "AbsorbChannelMoves", `graph main(%x: float32[1,8,3,3]) {
			@e = float32[1,8,1,1]{1, 2, 3, 4, 5, 6, 7, 8}
			%z = strided_slice(%x) {begin=[0,7,0,0], end=[1,-1,3,3], strides=[1,-1,1,1]}
			%y = nn.conv2d(%z, @e) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y, %z }`},
		{"whole_blocks", "AbsorbChannelMoves", `graph main(%x: float32[1,8,3,3]) {
			@e = float32[1,16,1,1]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
			%0 = tanh(%x) %1 = concatenate(%x, %0) {axis=1}
			%y = nn.conv2d(%1, @e) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y }`},
		{"look_up", "FuseOps", `graph main(%x: float32[1,4,4,4]) {
			@w = float32[2,3,1,1]{1, 2, 3, 4, 5, 6} @at = uint16[3]{3, 0, 2}
			%0 = take(%x, @at) {axis=1}
			%y = nn.conv2d(%0, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} return %y }`},
		{"computed_table", "FuseOps", `graph main(%x: float32[320,4], %d: float32[320]) {
			%i = cast(%x) {dtype=uint8} origin "numbers" %t = max(%i) {axis=[1], keep_dims=false} origin "table"
			%b = cast(%d) {dtype=uint8} origin "bytes" %y = qnn.lookup(%b, %t) origin "lookup" return %y }`},
		{"chain", "FuseOps", `graph main(%x: float32[1,1,4,4]) {
			@w = float32[2,1,1,1]{1, 2} @b = float32[2,1,1]{1, -1}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%1 = add(%0, @b) origin "Add_1" %2 = nn.relu(%1) origin "Relu_2" %y = nn.softmax(%2) {axis=1} origin "Softmax_3" return %y }`},
		{"dequantized_sum", "FuseOps", `graph main(%x: float32[1,1,4,4]) {
			@w = int8[2,1,1,1]{1, 2} @z = int32[]{0} @zx = uint8[]{0} @zw = int8[]{0} @s = float32[]{0.5}
			%q = qnn.quantize(%x, @s, @zx) {axis=0, block_size=0, out_dtype=uint8, rounding="half_even"}
			%0 = qnn.conv2d(%q, @zx, @w, @zw) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%1 = qnn.conv2d(%q, @zx, @w, @zw) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_1"
			%2 = qnn.requantize(%0, @s, @z, @s, @zx) {axis=0, out_dtype=uint8, rounding="half_even"}
			%3 = qnn.requantize(%1, @s, @z, @s, @zx) {axis=0, out_dtype=uint8, rounding="half_even"}
			%4 = qnn.dequantize(%2, @s, @zx) {axis=0, block_size=0} %5 = qnn.dequantize(%3, @s, @zx) {axis=0, block_size=0}
			%y = add(%4, %5) return %y }`},
		{"two_readers", "FuseOps", `graph main(%x: float32[4]) {
			%0 = exp(%x) %1 = tanh(%0) %2 = negative(%0) %y = add(%1, %2) return %y }`},
		{"diamond", "FuseOps", `graph main(%x: float32[1,1,4,4]) {
			@w = float32[2,1,1,1]{1, 2}
			%0 = nn.conv2d(%x, @w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} origin "Conv_0"
			%1 = sigmoid(%0) %2 = tanh(%1) %3 = multiply(%0, %1) %y = add(%3, %2) return %y }`},
		{"diamond_elsewhere", "FuseOps", `graph main(%x: float32[4,4]) {
			%0 = exp(%x) %1 = transpose(%0) {axes=[1,0]} %y = add(%0, %1) return %y }`},
		{"softmax_stays_along_lines", "ConvertLayout", `graph main(%x: float32[2,66,96]) {
			%0 = tile(%x) {reps=[1,1,2]} %1 = nn.softmax(%0) {axis=2} %y = transpose(%1) {axes=[1,2,0]} return %y }`},
		{"short_pieces", "FuseOps", `graph main(%x: float32[4096,3], %y: float32[4096,64]) {
			%0 = sin(%x) %1 = negative(%x) %2 = cos(%x) %3 = tanh(%y) %z = concatenate(%0, %1, %2, %3) {axis=1} return %z }`},
		{"output_in_the_middle", "FuseOps", `graph main(%x: float32[4]) {
			%z = exp(%x) %y = tanh(%z) return %y, %z }`},
		{"narrow_between_anchors", "FuseOps", `graph main(%f: float32[1,1,2,2]) {
			@z = uint8[]{0} @w = int8[1,1,1,1]{2} @wz = int8[]{0} @a = int32[]{3} @b = int32[]{7}
			%x = cast(%f) {dtype=uint8} %0 = qnn.conv2d(%x, @z, @w, @wz) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %1 = cast(%0) {dtype=int8}
			%2 = cast(%1) {dtype=int32} %3 = subtract(%2, @a) %4 = multiply(%3, @b)
			%5 = qnn.conv2d(%x, @z, @w, @wz) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} %6 = cast(%5) {dtype=int8}
			%7 = cast(%6) {dtype=int32} %8 = subtract(%7, @a) %9 = multiply(%8, @b)
			%10 = add(%4, %9) %11 = right_shift(%10, @a) %y = cast(%11) {dtype=int8} return %y }`},
		{"two_anchors", "FuseOps", `graph main(%x: float32[2,2]) {
			%0 = nn.matmul(%x, %x) {transpose_a=false, transpose_b=false} %1 = nn.matmul(%x, %0) {transpose_a=false, transpose_b=true}
			%y = add(%0, %1) return %y }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := graph.Parse(c.text, ops.Lookup, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := g.String()
			in := graphtest.Inputs(rand.New(rand.NewPCG(1, 5)), g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			run(t, c.pass, g)
			after := g.String()
			golden.Check(t, c.name, []byte("// before "+c.pass+"\n"+before+"\n// after\n"+after))
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Error(err)
			}
			run(t, c.pass, g)
			if again := g.String(); again != after {
				t.Errorf("a second run changes the graph:\n%s", again)
			}
		})
	}
}

// TestRandom runs the table pass by pass on random networks. Every pass keeps the values, and run again it changes
// nothing.
func TestRandom(t *testing.T) {
	samples := uint64(120)
	if testing.Short() {
		samples = 25
	}
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 6))
		g := graphtest.New(r)
		in := graphtest.Inputs(r, g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range Table {
			before := g.String()
			run(t, p.Name, g)
			after := g.String()
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Fatalf("seed %d: after %s: %v\nbefore:\n%s\nafter:\n%s", seed, p.Name, err, before, after)
			}
			run(t, p.Name, g)
			if again := g.String(); again != after {
				t.Fatalf("seed %d: %s run again changes the graph:\n%s\nto:\n%s", seed, p.Name, after, again)
			}
		}
	}
}
