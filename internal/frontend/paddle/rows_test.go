package paddle

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// s makes slots of names and arguments.
func s(pairs ...string) (list []slot) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, slot{pairs[i], []string{pairs[i+1]}})
	}
	return list
}

type attrs = map[string]any

// rowTests are operators with what the documents of Paddle say that they give.
var rowTests = []struct {
	op    string
	in    []slot
	data  operands
	attrs attrs
	out   []slot
	shape []int
	want  []float64 // of the first result
}{
	{"elementwise_add", s("X", "x", "Y", "B"), operands{"x": counting(1, 2, 2), "B": f32([]int{2}, 10, 20)}, attrs{"axis": 1}, s("Out", "y"), []int{1, 2, 2}, []float64{11, 12, 23, 24}},
	{"elementwise_sub", s("X", "x", "Y", "B"), operands{"x": counting(2, 2), "B": f32([]int{2}, 1, 2)}, attrs{"axis": -1}, s("Out", "y"), []int{2, 2}, []float64{0, 0, 2, 2}},
	{"elementwise_mul", s("X", "x", "Y", "B"), operands{"x": counting(2, 2), "B": f32([]int{2, 1}, 1, 2)}, attrs{"axis": 0}, s("Out", "y"), []int{2, 2}, []float64{1, 2, 6, 8}},
	{"elementwise_floordiv", s("X", "x", "Y", "y"), operands{"x": i64(-7, 7), "y": i64(2, 2)}, nil, s("Out", "z"), []int{2}, []float64{-4, 3}},
	{"scale", s("X", "x"), operands{"x": counting(2)}, attrs{"scale": 2.0, "bias": 1.0, "bias_after_scale": false}, s("Out", "y"), []int{2}, []float64{4, 6}},
	{"scale", s("X", "x", "ScaleTensor", "S"), operands{"x": counting(2), "S": f32([]int{1}, 3)}, attrs{"scale": 2.0, "bias": 1.0}, s("Out", "y"), []int{2}, []float64{4, 7}},
	{"clip", s("X", "x", "Min", "M"), operands{"x": counting(3), "M": f32([]int{1}, 2)}, attrs{"min": 0.0, "max": 2.5}, s("Out", "y"), []int{3}, []float64{2, 2, 2.5}},
	{"round", s("X", "x"), operands{"x": f32([]int{4}, 0.5, -0.5, 2.5, 1.2)}, nil, s("Out", "y"), []int{4}, []float64{1, -1, 3, 1}},
	{"pow", s("X", "x"), operands{"x": counting(2)}, attrs{"factor": 3.0}, s("Out", "y"), []int{2}, []float64{1, 8}},
	{"cast", s("X", "x"), operands{"x": f32([]int{2}, 1.5, -1.5)}, attrs{"in_dtype": 5, "out_dtype": 3}, s("Out", "y"), []int{2}, []float64{1, -1}},
	{"sum", []slot{{"X", []string{"x", "y"}}}, operands{"x": counting(2), "y": counting(2)}, nil, s("Out", "z"), []int{2}, []float64{2, 4}},
	{"isfinite_v2", s("X", "x"), operands{"x": f32([]int{3}, 1, float32(math.Inf(1)), float32(math.NaN()))}, nil, s("Out", "y"), []int{3}, []float64{1, 0, 0}},

	{"hard_sigmoid", s("X", "x"), operands{"x": f32([]int{2}, 1, 5)}, attrs{"slope": 0.25, "offset": 0.5}, s("Out", "y"), []int{2}, []float64{0.75, 1}},
	{"hard_swish", s("X", "x"), operands{"x": f32([]int{2}, 1, 5)}, attrs{"threshold": 4.0, "scale": 4.0, "offset": 2.0}, s("Out", "y"), []int{2}, []float64{0.75, 5}},
	{"softplus", s("X", "x"), operands{"x": f32([]int{1}, 0)}, attrs{"beta": 2.0, "threshold": 20.0}, s("Out", "y"), []int{1}, []float64{math.Log(2) / 2}},
	{"softshrink", s("X", "x"), operands{"x": f32([]int{3}, 1, -1, 0.2)}, attrs{"lambda": 0.5}, s("Out", "y"), []int{3}, []float64{0.5, -0.5, 0}},
	{"hard_shrink", s("X", "x"), operands{"x": f32([]int{3}, 1, -1, 0.2)}, attrs{"threshold": 0.5}, s("Out", "y"), []int{3}, []float64{1, -1, 0}},
	{"logsigmoid", s("X", "x"), operands{"x": f32([]int{1}, 0)}, nil, s("Out", "y"), []int{1}, []float64{-math.Log(2)}},
	{"prelu", s("X", "x", "Alpha", "A"), operands{"x": f32([]int{1, 2, 1, 2}, -1, 1, -1, -2), "A": f32([]int{2}, 0.5, 0.25)}, attrs{"mode": "channel", "data_format": "NCHW"}, s("Out", "y"), []int{1, 2, 1, 2}, []float64{-0.5, 1, -0.25, -0.5}},
	{"prelu", s("X", "x", "Alpha", "A"), operands{"x": f32([]int{1, 2}, -1, 1), "A": f32([]int{1}, 0.5)}, attrs{"mode": "all"}, s("Out", "y"), []int{1, 2}, []float64{-0.5, 1}},
	{"maxout", s("X", "x"), operands{"x": counting(1, 4, 1, 1)}, attrs{"groups": 2, "axis": 1}, s("Out", "y"), []int{1, 2, 1, 1}, []float64{2, 4}},

	{"conv2d", s("Input", "x", "Filter", "W", "Bias", "B"), operands{"x": counting(1, 1, 2, 2), "W": f32([]int{1, 1, 2, 2}, 1, 1, 1, 1), "B": f32([]int{1}, 1)}, attrs{"paddings": []int{0, 1, 1, 0}, "strides": []int{1, 1}}, s("Output", "y"), []int{1, 1, 2, 2}, []float64{5, 11, 4, 8}},
	{"conv2d", s("Input", "x", "Filter", "W"), operands{"x": counting(1, 2, 2, 1), "W": f32([]int{1, 1, 2, 2}, 1, 1, 1, 1)}, attrs{"paddings": []int{9, 9}, "padding_algorithm": "SAME", "data_format": "NHWC"}, s("Output", "y"), []int{1, 2, 2, 1}, []float64{10, 6, 7, 4}},
	{"deformable_conv", s("Input", "x", "Offset", "o", "Mask", "m", "Filter", "W"), operands{"x": f32([]int{1, 1, 1, 2}, 1, 3), "o": f32([]int{1, 2, 1, 2}, 0, 0, 0.5, 0.5), "m": f32([]int{1, 1, 1, 2}, 1, 0.5), "W": f32([]int{1, 1, 1, 1}, 2)}, attrs{"deformable_groups": 1, "im2col_step": 1}, s("Output", "y"), []int{1, 1, 1, 2}, []float64{4, 1.5}},
	{"conv2d_transpose", s("Input", "x", "Filter", "W"), operands{"x": f32([]int{1, 1, 1, 2}, 1, 2), "W": f32([]int{1, 1, 1, 1}, 3)}, attrs{"strides": []int{1, 2}, "output_size": []int{1, 4}}, s("Output", "y"), []int{1, 1, 1, 4}, []float64{3, 0, 6, 0}},
	{"pool2d", s("X", "x"), operands{"x": counting(1, 1, 1, 3)}, attrs{"pooling_type": "avg", "ksize": []int{1, 2}, "strides": []int{1, 2}, "paddings": []int{0, 1}, "exclusive": true}, s("Out", "y"), []int{1, 1, 1, 2}, []float64{1, 2.5}},
	{"pool2d", s("X", "x"), operands{"x": counting(1, 1, 1, 3)}, attrs{"pooling_type": "avg", "ksize": []int{1, 2}, "strides": []int{1, 2}, "paddings": []int{0, 1}, "exclusive": false}, s("Out", "y"), []int{1, 1, 1, 2}, []float64{0.5, 2.5}},
	{"pool2d", s("X", "x"), operands{"x": counting(1, 1, 1, 5)}, attrs{"pooling_type": "avg", "ksize": []int{1, 3}, "adaptive": true}, s("Out", "y"), []int{1, 1, 1, 3}, []float64{1.5, 3, 4.5}},
	{"pool2d", s("X", "x"), operands{"x": counting(1, 1, 2, 2)}, attrs{"pooling_type": "max", "ksize": []int{1, 1}, "global_pooling": true}, s("Out", "y"), []int{1, 1, 1, 1}, []float64{4}},
	{"pool2d", s("X", "x"), operands{"x": counting(1, 1, 1, 4)}, attrs{"pooling_type": "max", "ksize": []int{1, 2}, "adaptive": true}, s("Out", "y"), []int{1, 1, 1, 2}, []float64{2, 4}},
	{"batch_norm", s("X", "x", "Scale", "S", "Bias", "B", "Mean", "M", "Variance", "V"), operands{"x": counting(1, 2), "S": f32([]int{2}, 2, 2), "B": f32([]int{2}, 1, 1), "M": f32([]int{2}, 1, 1), "V": f32([]int{2}, 3, 3)}, attrs{"epsilon": 1.0, "data_layout": "NCHW"}, s("Y", "y"), []int{1, 2}, []float64{1, 2}},
	{"layer_norm", s("X", "x"), operands{"x": counting(1, 2, 2)}, attrs{"epsilon": 0.0, "begin_norm_axis": 1}, s("Y", "y"), []int{1, 2, 2}, []float64{-1.341641, -0.447214, 0.447214, 1.341641}},
	{"lrn", s("X", "x"), operands{"x": counting(1, 1, 1, 1)}, attrs{"n": 5, "k": 1.0, "alpha": 1.0, "beta": 1.0}, s("Out", "y"), []int{1, 1, 1, 1}, []float64{0.5}},
	{"mul", s("X", "x", "Y", "W"), operands{"x": counting(1, 2, 1), "W": f32([]int{2, 1, 1}, 3, 4)}, attrs{"x_num_col_dims": 1, "y_num_col_dims": 1}, s("Out", "y"), []int{1, 1, 1}, []float64{11}},
	{"matmul", s("X", "x", "Y", "W"), operands{"x": counting(2, 1), "W": f32([]int{3, 2}, 1, 2, 3, 4, 5, 6)}, attrs{"transpose_X": true, "transpose_Y": true, "alpha": 2.0}, s("Out", "y"), []int{1, 3}, []float64{10, 22, 34}},
	{"fc", s("Input", "x", "W", "W", "Bias", "B"), operands{"x": counting(1, 2), "W": f32([]int{2, 2}, 1, -1, 1, -1), "B": f32([]int{2}, 1, 1)}, attrs{"in_num_col_dims": 1, "activation_type": "relu"}, s("Out", "y"), []int{1, 2}, []float64{4, 0}},
	{"dropout", s("X", "x"), operands{"x": counting(2)}, attrs{"dropout_prob": 0.5, "dropout_implementation": "downgrade_in_infer"}, s("Out", "y"), []int{2}, []float64{0.5, 1}},
	{"unfold", s("X", "x"), operands{"x": counting(1, 1, 2, 3)}, attrs{"kernel_sizes": []int{2, 2}, "strides": []int{1, 1}, "paddings": []int{0, 0, 0, 0}, "dilations": []int{1, 1}}, s("Y", "y"), []int{1, 4, 2}, []float64{1, 2, 2, 3, 4, 5, 5, 6}},

	{"reduce_mean", s("X", "x"), operands{"x": counting(2, 2)}, attrs{"dim": []int{-1}, "keep_dim": true, "reduce_all": false}, s("Out", "y"), []int{2, 1}, []float64{1.5, 3.5}},
	{"reduce_sum", s("X", "x"), operands{"x": counting(2, 2)}, attrs{"dim": []int{0}, "reduce_all": true, "out_dtype": -1}, s("Out", "y"), []int{}, []float64{10}},
	{"p_norm", s("X", "x"), operands{"x": f32([]int{1, 2}, 3, 4)}, attrs{"porder": 2.0, "axis": 1, "keepdim": false}, s("Out", "y"), []int{1}, []float64{5}},
	{"arg_max", s("X", "x"), operands{"x": f32([]int{2, 2}, 1, 2, 4, 3)}, attrs{"axis": -1, "dtype": 2}, s("Out", "y"), []int{2}, []float64{1, 0}},
	{"cumsum", s("X", "x"), operands{"x": counting(3)}, attrs{"axis": 0, "exclusive": true, "reverse": true}, s("Out", "y"), []int{3}, []float64{5, 3, 0}},
	{"top_k_v2", s("X", "x"), operands{"x": f32([]int{3}, 1, 3, 2)}, attrs{"k": 2, "axis": -1, "largest": true}, s("Indices", "i", "Out", "y"), []int{2}, []float64{3, 2}},
	{"argsort", s("X", "x"), operands{"x": f32([]int{3}, 1, 3, 2)}, attrs{"axis": -1, "descending": false}, s("Out", "y", "Indices", "i"), []int{3}, []float64{1, 2, 3}},

	{"reshape2", s("X", "x"), operands{"x": counting(2, 3)}, attrs{"shape": []int{0, -1, 1}}, s("Out", "y"), []int{2, 3, 1}, []float64{1, 2, 3, 4, 5, 6}},
	{"reshape2", []slot{{"X", []string{"x"}}, {"ShapeTensor", []string{"S", "T"}}}, operands{"x": counting(2, 2), "S": i64(4), "T": i64(-1)}, attrs{"shape": []int{2, 2}}, s("Out", "y"), []int{4, 1}, []float64{1, 2, 3, 4}},
	{"flatten_contiguous_range", s("X", "x"), operands{"x": counting(1, 2, 2)}, attrs{"start_axis": 1, "stop_axis": -1}, s("Out", "y"), []int{1, 4}, []float64{1, 2, 3, 4}},
	{"squeeze2", s("X", "x"), operands{"x": counting(1, 2, 1)}, attrs{"axes": []int{-1}}, s("Out", "y"), []int{1, 2}, []float64{1, 2}},
	{"unsqueeze2", s("X", "x"), operands{"x": counting(2)}, attrs{"axes": []int{0, 2}}, s("Out", "y"), []int{1, 2, 1}, []float64{1, 2}},
	{"split", s("X", "x"), operands{"x": counting(5)}, attrs{"axis": 0, "num": 0, "sections": []int{1, -1}}, []slot{{"Out", []string{"y", "z"}}}, []int{1}, []float64{1}},
	{"stack", []slot{{"X", []string{"x", "y"}}}, operands{"x": counting(2), "y": counting(2)}, attrs{"axis": -1}, s("Y", "z"), []int{2, 2}, []float64{1, 1, 2, 2}},
	{"slice", s("Input", "x"), operands{"x": counting(2, 4)}, attrs{"axes": []int{0, 1}, "starts": []int{-1, 1}, "ends": []int{2147483647, -1}, "decrease_axis": []int{0}}, s("Out", "y"), []int{2}, []float64{6, 7}},
	{"strided_slice", s("Input", "x"), operands{"x": counting(4)}, attrs{"axes": []int{0}, "starts": []int{-1}, "ends": []int{-9}, "strides": []int{-2}}, s("Out", "y"), []int{2}, []float64{4, 2}},
	{"expand_v2", s("X", "x"), operands{"x": counting(2, 1)}, attrs{"shape": []int{2, -1, 2}}, s("Out", "y"), []int{2, 2, 2}, []float64{1, 1, 2, 2, 1, 1, 2, 2}},
	{"tile", s("X", "x"), operands{"x": counting(2)}, attrs{"repeat_times": []int{2, 1}}, s("Out", "y"), []int{2, 2}, []float64{1, 2, 1, 2}},
	{"roll", s("X", "x"), operands{"x": counting(2, 2)}, attrs{"axis": []int{}, "shifts": []int{1}}, s("Out", "y"), []int{2, 2}, []float64{4, 1, 2, 3}},
	{"pad3d", s("X", "x"), operands{"x": counting(1, 1, 1, 1, 2)}, attrs{"paddings": []int{1, 0, 0, 1, 0, 0}, "mode": "constant", "value": 9.0, "data_format": "NCDHW"}, s("Out", "y"), []int{1, 1, 1, 2, 3}, []float64{9, 1, 2, 9, 9, 9}},
	{"pad2d", s("X", "x"), operands{"x": counting(1, 1, 1, 2)}, attrs{"paddings": []int{0, 1, 1, 0}, "mode": "edge"}, s("Out", "y"), []int{1, 1, 2, 3}, []float64{1, 1, 2, 1, 1, 2}},
	{"pixel_shuffle", s("X", "x"), operands{"x": counting(1, 4, 1, 1)}, attrs{"upscale_factor": 2, "data_format": "NCHW"}, s("Out", "y"), []int{1, 1, 2, 2}, []float64{1, 2, 3, 4}},
	{"shuffle_channel", s("X", "x"), operands{"x": counting(1, 4, 1, 1)}, attrs{"group": 2}, s("Out", "y"), []int{1, 4, 1, 1}, []float64{1, 3, 2, 4}},
	{"tril_triu", s("X", "x"), operands{"x": counting(2, 2)}, attrs{"lower": true, "diagonal": 0}, s("Out", "y"), []int{2, 2}, []float64{1, 0, 3, 4}},
	{"meshgrid", []slot{{"X", []string{"x", "y"}}}, operands{"x": counting(2), "y": counting(3)}, nil, []slot{{"Out", []string{"a", "b"}}}, []int{2, 3}, []float64{1, 1, 1, 2, 2, 2}},

	{"gather", s("X", "x", "Index", "I"), operands{"x": counting(3, 1), "I": i64(2, 0)}, nil, s("Out", "y"), []int{2, 1}, []float64{3, 1}},
	{"scatter", s("X", "x", "Ids", "I", "Updates", "U"), operands{"x": counting(3, 1), "I": i64(1, 1), "U": f32([]int{2, 1}, 5, 6)}, attrs{"overwrite": false}, s("Out", "y"), []int{3, 1}, []float64{1, 11, 3}},
	{"lookup_table_v2", s("Ids", "I", "W", "x"), operands{"x": counting(3, 1), "I": i64(2, 1)}, attrs{"padding_idx": 1}, s("Out", "y"), []int{2, 1}, []float64{3, 0}},
	{"one_hot_v2", s("X", "x"), operands{"x": i64(1, 0)}, attrs{"depth": 2, "dtype": 5}, s("Out", "y"), []int{2, 2}, []float64{0, 1, 1, 0}},
	{"fill_constant_batch_size_like", s("Input", "x"), operands{"x": counting(3, 1)}, attrs{"shape": []int{-1, 1}, "value": 2.0, "dtype": 5, "input_dim_idx": 0, "output_dim_idx": 0}, s("Out", "y"), []int{3, 1}, []float64{2, 2, 2}},
	{"assign_value", nil, operands{"x": counting(1)}, attrs{"shape": []int{2}, "dtype": 5, "fp32_values": []float64{1, 2}, "int32_values": []int{}}, s("Out", "y"), []int{2}, []float64{1, 2}},
	{"range", s("Start", "A", "End", "B", "Step", "C"), operands{"A": i64(1), "B": i64(6), "C": i64(2), "x": counting(1)}, nil, s("Out", "y"), []int{3}, []float64{1, 3, 5}},
	{"shape", s("Input", "x"), operands{"x": counting(2, 3)}, nil, s("Out", "y"), []int{2}, []float64{2, 3}},
	{"eye", nil, operands{"x": counting(1)}, attrs{"num_rows": 1, "num_columns": 2, "dtype": 5}, s("Out", "y"), []int{1, 2}, []float64{1, 0}},

	{"nearest_interp_v2", s("X", "x"), operands{"x": counting(1, 1, 1, 2)}, attrs{"out_h": 1, "out_w": 3, "align_corners": false, "data_layout": "NCHW"}, s("Out", "y"), []int{1, 1, 1, 3}, []float64{1, 1, 2}},
	{"bilinear_interp_v2", s("X", "x"), operands{"x": counting(1, 1, 1, 2)}, attrs{"scale": []float64{1, 2}, "align_corners": false, "align_mode": 0}, s("Out", "y"), []int{1, 1, 1, 4}, []float64{1, 1.25, 1.75, 2}},
	{"bilinear_interp_v2", s("X", "x"), operands{"x": counting(1, 1, 1, 2)}, attrs{"scale": []float64{1, 2}, "align_corners": false, "align_mode": 1}, s("Out", "y"), []int{1, 1, 1, 4}, []float64{1, 1.5, 2, 2}},
	{"bilinear_interp", s("X", "x"), operands{"x": counting(1, 1, 1, 2)}, attrs{"out_h": 1, "out_w": 3, "align_corners": true, "align_mode": 1}, s("Out", "y"), []int{1, 1, 1, 3}, []float64{1, 1.5, 2}},

	// One place, the anchor 16 x 32 in a picture of 64 x 96 (height x width), objectness 1/2, one class of 1/2.
	{"yolo_box", s("X", "x", "ImgSize", "I"), operands{"x": f32([]int{1, 6, 1, 1}, 0, 0, 0, 0, 0, 0), "I": tensor.Of([]int{1, 2}, []int32{64, 96})}, attrs{"anchors": []int{16, 32}, "class_num": 1, "conf_thresh": 0.1, "downsample_ratio": 64, "clip_bbox": true, "scale_x_y": 1.0},
		s("Boxes", "b", "Scores", "c"), []int{1, 1, 4}, []float64{36, 16, 60, 48}},
	// A step of weights 0 and 1: gates i, f, c, o of biases 0 and state 0 and 1: 0.5*1 + 0.5*tanh(1).
	{"rnn", []slot{{"Input", []string{"x"}}, {"PreState", []string{"H", "C"}}, {"WeightList", []string{"W", "R", "B", "D"}}}, operands{"x": f32([]int{1, 1, 1}, 1), "H": f32([]int{1, 1, 1}, 0), "C": f32([]int{1, 1, 1}, 1),
		"W": f32([]int{4, 1}, 0, 0, 1, 0), "R": f32([]int{4, 1}, 0, 0, 0, 0), "B": f32([]int{4}, 0, 0, 0, 0), "D": f32([]int{4}, 0, 0, 0, 0)}, attrs{"mode": "LSTM", "num_layers": 1, "is_bidirec": false}, s("Out", "y"), []int{1, 1, 1}, []float64{0.5 * math.Tanh(0.5+0.5*math.Tanh(1))}},
	// r 0.5, z sigmoid(1), candidate tanh(1 + 0.5*2): the reset gate is behind the product with the state 1, whose weight is 2.
	{"rnn", []slot{{"Input", []string{"x"}}, {"PreState", []string{"H"}}, {"WeightList", []string{"W", "R", "B", "D"}}}, operands{"x": f32([]int{1, 1, 1}, 1), "H": f32([]int{1, 1, 1}, 1),
		"W": f32([]int{3, 1}, 0, 1, 1), "R": f32([]int{3, 1}, 0, 0, 2), "B": f32([]int{3}, 0, 0, 0), "D": f32([]int{3}, 0, 0, 0)}, attrs{"mode": "GRU", "num_layers": 1}, s("Out", "y"), []int{1, 1, 1},
		[]float64{1/(1+math.Exp(-1)) + (1-1/(1+math.Exp(-1)))*math.Tanh(2)}},
	{"prior_box", s("Input", "x", "Image", "z"), operands{"x": counting(1, 1, 1, 1), "z": counting(1, 1, 4, 4)}, attrs{"min_sizes": []float64{2}, "max_sizes": []float64{8}, "aspect_ratios": []float64{2}, "flip": true, "variances": []float64{0.1, 0.1, 0.2, 0.2}},
		s("Boxes", "b", "Variances", "v"), []int{1, 1, 4, 4}, []float64{0.25, 0.25, 0.75, 0.75, 0.1464466, 0.3232233, 0.8535534, 0.6767767, 0.3232233, 0.1464466, 0.6767767, 0.8535534, 0, 0, 1, 1}},
	{"box_coder", s("PriorBox", "p", "TargetBox", "t"), operands{"p": f32([]int{1, 4}, 0, 0, 2, 4), "t": f32([]int{1, 1, 4}, 1, 0, 0, 0)}, attrs{"code_type": "decode_center_size", "variance": []float64{0.1, 0.1, 0.2, 0.2}}, s("OutputBox", "y"), []int{1, 1, 4}, []float64{0.2, 0, 2.2, 4}},
	{"box_coder", s("PriorBox", "p", "PriorBoxVar", "V", "TargetBox", "t"), operands{"p": f32([]int{1, 4}, 0, 0, 1, 3), "V": f32([]int{1, 4}, 0.1, 0.1, 0.2, 0.2), "t": f32([]int{1, 1, 4}, 1, 0, 0, 0)}, attrs{"code_type": "decode_center_size", "box_normalized": false, "axis": 1}, s("OutputBox", "y"), []int{1, 1, 4}, []float64{0.2, 0, 1.2, 3}},
	{"multiclass_nms3", s("BBoxes", "b", "Scores", "s"), operands{"b": threeBoxes, "s": f32([]int{1, 2, 3}, 0.9, 0.8, 0.7, 0.1, 0.6, 0.2)}, attrs{"background_label": -1, "score_threshold": 0.15, "nms_threshold": 0.5, "nms_top_k": 3, "keep_top_k": 3, "nms_eta": 1.0, "normalized": true},
		s("Out", "y", "Index", "i", "NmsRoisNum", "n"), []int{3, 6}, []float64{0, 0.9, 0, 0, 10, 10, 0, 0.7, 20, 20, 30, 30, 1, 0.6, 0, 0, 10, 9}},
	{"multiclass_nms3", s("BBoxes", "b", "Scores", "s"), operands{"b": threeBoxes, "s": f32([]int{1, 2, 3}, 0.9, 0.8, 0.7, 0.1, 0.6, 0.2)}, attrs{"background_label": 0, "score_threshold": 0.15, "nms_threshold": 0.5, "nms_top_k": 1, "keep_top_k": 3, "nms_eta": 1.0, "normalized": true},
		s("Out", "y", "Index", "i", "NmsRoisNum", "n"), []int{2, 6}, []float64{1, 0.6, 0, 0, 10, 9, 0, 0, 0, 0, 0, 0}},
	{"matrix_nms", s("BBoxes", "b", "Scores", "s"), operands{"b": threeBoxes, "s": f32([]int{1, 1, 3}, 0.9, 0.8, 0.7)}, attrs{"background_label": -1, "score_threshold": 0.15, "post_threshold": 0.05, "nms_top_k": 3, "keep_top_k": 3, "use_gaussian": false, "normalized": true},
		s("Out", "y", "Index", "i", "RoisNum", "n"), []int{3, 6}, []float64{0, 0.9, 0, 0, 10, 10, 0, 0.7, 20, 20, 30, 30, 0, 0.08, 0, 0, 10, 9}},
	{"quantize_linear", s("X", "x", "Scale", "S"), operands{"x": f32([]int{3}, 0.5, -2, 0.004), "S": f32([]int{1}, 1.27)}, attrs{"bit_length": 8, "quant_axis": -1}, s("Y", "y"), []int{3}, []float64{50, -128, 0}},
	{"quantize_linear", s("X", "x", "Scale", "S"), operands{"x": f32([]int{2, 2}, 0.5, -2, 0.004, 2.5), "S": f32([]int{2}, 1.27, 127)}, attrs{"bit_length": 8, "quant_axis": 1, "round_type": 1}, s("Y", "y"), []int{2, 2}, []float64{50, -2, 0, 3}},
	{"dequantize_linear", s("X", "X", "Scale", "S"), operands{"X": f32([]int{2, 1}, 50, -2), "S": f32([]int{2}, 1.27, 127)}, attrs{"bit_length": 8, "quant_axis": 0}, s("Y", "y"), []int{2, 1}, []float64{0.5, -2}},
	{"fake_quantize_dequantize_abs_max", s("X", "x"), operands{"x": f32([]int{3}, 127, 1.4, -0.6)}, attrs{"bit_length": 8}, s("Out", "y"), []int{3}, []float64{127, 1, -1}},
	{"fake_channel_wise_quantize_dequantize_abs_max", s("X", "x"), operands{"x": f32([]int{2, 2}, 127, 1.4, 1.27, 0.004)}, attrs{"bit_length": 8, "quant_axis": 0}, s("Out", "y"), []int{2, 2}, []float64{127, 1, 1.27, 0}},
}

// threeBoxes are two that share nine tenths, and one apart.
var threeBoxes = f32([]int{1, 3, 4}, 0, 0, 10, 10, 0, 0, 10, 9, 20, 20, 30, 30)

func TestRows(t *testing.T) {
	for i, c := range rowTests {
		t.Run(fmt.Sprintf("%d %s", i, c.op), func(t *testing.T) {
			m, err := Read(written(c.op, c.in, c.data, c.attrs, c.out))
			if err != nil {
				t.Fatal(err)
			}
			evaluated(t, m, c.data, c.shape, c.want, resultPlace(c.out, resultsOf(c.op)[0]))
		})
	}
}

// resultPlace is which of all results is the first of a slot.
func resultPlace(out []slot, name string) int {
	n := 0
	for _, o := range out {
		if o.name == name {
			return n
		}
		n += len(o.args)
	}
	return 0
}

// evaluated compares an output of a model.
func evaluated(t *testing.T, m *frontend.Model, data operands, shape []int, want []float64, place int) {
	t.Helper()
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var in []*tensor.Tensor
	for _, v := range g.Inputs {
		in = append(in, data[v.Name])
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	y := out[place]
	if !slices.Equal(y.Shape, shape) {
		t.Fatalf("%s, want the shape %v", y.Type(), shape)
	}
	for i, v := range want {
		if got := y.Float(i); math.Abs(got-v) > 1e-5*max(1, math.Abs(v)) {
			t.Errorf("element %d is %v instead of %v", i, got, v)
		}
	}
}
