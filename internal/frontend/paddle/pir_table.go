package paddle

// A pirRow says what an operation of the JSON form is in the older one: the slots of its operands and results, attributes with another name
// there ("": one that does not matter), and those that it always has. Where out is nil the results are those of the operator, in order.
type pirRow struct {
	op      string
	in, out []string
	renamed map[string]string
	also    map[string]any
}

var (
	x         = []string{"X"}
	xy        = []string{"X", "Y"}
	normed    = []string{"X", "Scale", "Bias"}
	resized   = []string{"X", "OutSize", "SizeTensor", "Scale"}
	toDim     = map[string]string{"axis": "dim", "keepdim": "keep_dim"}
	inputConv = []string{"Input", "Filter", "OutputSizeTensor"}
)

// pirTable lists the operations that have other names in the older form, or operands; those of no operands but in named X do not stand here.
var pirTable = map[string]pirRow{
	"conv2d": {op: "conv2d", in: inputConv}, "depthwise_conv2d": {op: "depthwise_conv2d", in: inputConv}, "conv3d": {op: "conv3d", in: inputConv},
	"conv2d_transpose": {op: "conv2d_transpose", in: inputConv}, "depthwise_conv2d_transpose": {op: "depthwise_conv2d_transpose", in: inputConv}, "conv3d_transpose": {op: "conv3d_transpose", in: inputConv},
	"deformable_conv": {op: "deformable_conv", in: []string{"Input", "Offset", "Filter", "Mask"}},
	"pool2d":          {op: "pool2d", in: []string{"X", "KSize"}}, "pool3d": {op: "pool3d", in: x, renamed: map[string]string{"kernel_size": "ksize"}},
	"max_pool2d_with_index": {op: "max_pool2d_with_index", in: x, renamed: map[string]string{"kernel_size": "ksize"}},
	"batch_norm":            {op: "batch_norm", in: []string{"X", "Mean", "Variance", "Scale", "Bias"}, renamed: map[string]string{"data_format": "data_layout"}},
	"layer_norm":            {op: "layer_norm", in: normed}, "instance_norm": {op: "instance_norm", in: normed},
	"group_norm": {op: "group_norm", in: normed, renamed: map[string]string{"data_format": "data_layout"}},
	"fc":         {op: "fc", in: []string{"Input", "W", "Bias"}},

	"matmul": {op: "matmul_v2", in: xy, renamed: map[string]string{"transpose_x": "trans_x", "transpose_y": "trans_y"}}, "bmm": {op: "bmm", in: xy}, "mv": {op: "mv", in: []string{"X", "Vec"}}, "dot": {op: "dot", in: xy},
	"add": {op: "elementwise_add", in: xy}, "subtract": {op: "elementwise_sub", in: xy}, "multiply": {op: "elementwise_mul", in: xy}, "divide": {op: "elementwise_div", in: xy},
	"maximum": {op: "elementwise_max", in: xy}, "minimum": {op: "elementwise_min", in: xy}, "elementwise_pow": {op: "elementwise_pow", in: xy}, "fmax": {op: "elementwise_max", in: xy}, "fmin": {op: "elementwise_min", in: xy},
	"floor_divide": {op: "elementwise_floordiv", in: xy}, "remainder": {op: "elementwise_mod", in: xy},
	"equal": {op: "equal", in: xy}, "not_equal": {op: "not_equal", in: xy}, "less_than": {op: "less_than", in: xy}, "less_equal": {op: "less_equal", in: xy}, "greater_than": {op: "greater_than", in: xy}, "greater_equal": {op: "greater_equal", in: xy},
	"logical_and": {op: "logical_and", in: xy}, "logical_or": {op: "logical_or", in: xy}, "logical_xor": {op: "logical_xor", in: xy}, "bitwise_and": {op: "bitwise_and", in: xy}, "bitwise_or": {op: "bitwise_or", in: xy}, "bitwise_xor": {op: "bitwise_xor", in: xy},
	"where": {op: "where", in: []string{"Condition", "X", "Y"}}, "isnan": {op: "isnan_v2", in: x}, "isinf": {op: "isinf_v2", in: x}, "isfinite": {op: "isfinite_v2", in: x},
	"add_n": {op: "sum", in: x}, "einsum": {op: "einsum", in: []string{"Operands"}},

	"scale": {op: "scale", in: []string{"X", "ScaleTensor"}}, "clip": {op: "clip", in: []string{"X", "Min", "Max"}}, "cast": {op: "cast", in: x, renamed: map[string]string{"dtype": "out_dtype"}},
	"pow": {op: "pow", in: x, renamed: map[string]string{"y": "factor"}}, "prelu": {op: "prelu", in: []string{"X", "Alpha"}}, "hardsigmoid": {op: "hard_sigmoid", in: x}, "hardswish": {op: "hard_swish", in: x},
	"hardtanh": {op: "brelu", in: x}, "leaky_relu": {op: "leaky_relu", in: x, renamed: map[string]string{"negative_slope": "alpha"}}, "softshrink": {op: "softshrink", in: x, renamed: map[string]string{"threshold": "lambda"}},
	"hardshrink": {op: "hard_shrink", in: x}, "mish": {op: "mish", in: x, renamed: map[string]string{"lambda": "threshold"}}, "increment": {op: "increment", in: x, renamed: map[string]string{"value": "step"}},
	"dropout": {op: "dropout", in: []string{"X", "Seed", "P"}, renamed: map[string]string{"mode": "dropout_implementation", "p": "dropout_prob"}},

	"mean": {op: "reduce_mean", in: x, renamed: toDim}, "sum": {op: "reduce_sum", in: []string{"X", "Axis"}, renamed: map[string]string{"axis": "dim", "keepdim": "keep_dim", "dtype": "out_dtype"}},
	"max": {op: "reduce_max", in: []string{"X", "Axis"}, renamed: toDim}, "min": {op: "reduce_min", in: []string{"X", "Axis"}, renamed: toDim}, "prod": {op: "reduce_prod", in: []string{"X", "Axis"}, renamed: toDim},
	"all": {op: "reduce_all", in: x, renamed: toDim}, "any": {op: "reduce_any", in: x, renamed: toDim}, "mean_all": {op: "mean", in: x},
	"argmax": {op: "arg_max", in: []string{"X", "Axis"}}, "argmin": {op: "arg_min", in: []string{"X", "Axis"}}, "topk": {op: "top_k_v2", in: []string{"X", "K"}}, "cumsum": {op: "cumsum", in: []string{"X", "Axis"}},

	"reshape": {op: "reshape2", in: []string{"X", "Shape"}}, "flatten": {op: "flatten_contiguous_range", in: x}, "squeeze": {op: "squeeze2", in: []string{"X", "AxesTensor"}}, "unsqueeze": {op: "unsqueeze2", in: []string{"X", "AxesTensor"}},
	"transpose": {op: "transpose2", in: x, renamed: map[string]string{"perm": "axis"}}, "concat": {op: "concat", in: []string{"X", "AxisTensor"}}, "stack": {op: "stack", in: x},
	"split": {op: "split", in: []string{"X", "SectionsTensor", "AxisTensor"}}, "split_with_num": {op: "split", in: []string{"X", "AxisTensor"}}, "unbind": {op: "unbind", in: x}, "unstack": {op: "unstack", in: x},
	"slice": {op: "slice", in: []string{"Input", "StartsTensor", "EndsTensor"}}, "strided_slice": {op: "strided_slice", in: []string{"Input", "StartsTensor", "EndsTensor", "StridesTensor"}},
	"expand": {op: "expand_v2", in: []string{"X", "Shape"}}, "expand_as": {op: "expand_as_v2", in: xy}, "tile": {op: "tile", in: []string{"X", "RepeatTimes"}},
	"pad": {op: "pad", in: x}, "pad3d": {op: "pad3d", in: []string{"X", "Paddings"}, renamed: map[string]string{"pad_value": "value"}}, "flip": {op: "flip", in: x}, "roll": {op: "roll", in: []string{"X", "ShiftsTensor"}},
	"gather": {op: "gather", in: []string{"X", "Index", "Axis"}}, "gather_nd": {op: "gather_nd", in: []string{"X", "Index"}}, "index_select": {op: "index_select", in: []string{"X", "Index"}, renamed: map[string]string{"axis": "dim"}},
	"take_along_axis": {op: "take_along_axis", in: []string{"Input", "Index"}, renamed: map[string]string{"axis": "Axis"}},
	"scatter":         {op: "scatter", in: []string{"X", "Ids", "Updates"}}, "scatter_nd_add": {op: "scatter_nd_add", in: []string{"X", "Index", "Updates"}},
	"tril": {op: "tril_triu", in: x, also: map[string]any{"lower": true}}, "triu": {op: "tril_triu", in: x, also: map[string]any{"lower": false}}, "meshgrid": {op: "meshgrid", in: x},
	"one_hot": {op: "one_hot_v2", in: []string{"X", "depth_tensor"}}, "embedding": {op: "lookup_table_v2", in: []string{"Ids", "W"}}, "nonzero": {op: "where_index", in: []string{"Condition"}},
	"shape": {op: "shape", in: []string{"Input"}}, "shape64": {op: "shape", in: []string{"Input"}, also: map[string]any{"wide": true}}, "numel": {op: "size", in: []string{"Input"}},
	"full": {op: "fill_constant"}, "full_int_array": {op: "assign_value", renamed: map[string]string{"value": "values"}}, "full_like": {op: "fill_any_like", in: []string{"X", "ValueTensor"}}, "full_with_tensor": {op: "fill_constant", in: []string{"ValueTensor", "ShapeTensor"}},
	"full_batch_size_like": {op: "fill_constant_batch_size_like", in: []string{"Input"}}, "arange": {op: "range", in: []string{"Start", "End", "Step"}}, "linspace": {op: "linspace", in: []string{"Start", "Stop", "Num"}},
	"eye": {op: "eye", in: []string{"num_rows", "num_columns"}},

	"nearest_interp": {op: "nearest_interp_v2", in: resized}, "bilinear_interp": {op: "bilinear_interp_v2", in: resized}, "bicubic_interp": {op: "bicubic_interp_v2", in: resized},
	"linear_interp": {op: "linear_interp_v2", in: resized}, "trilinear_interp": {op: "trilinear_interp_v2", in: resized},
	"channel_shuffle": {op: "shuffle_channel", in: x, renamed: map[string]string{"groups": "group", "data_format": ""}}, "unfold": {op: "unfold", in: x},
	"grid_sample": {op: "grid_sampler", in: []string{"X", "Grid"}}, "affine_grid": {op: "affine_grid", in: []string{"Theta", "OutputShape"}}, "affine_channel": {op: "affine_channel", in: normed},
	"roi_align": {op: "roi_align", in: []string{"X", "ROIs", "RoisNum"}}, "yolo_box": {op: "yolo_box", in: []string{"X", "ImgSize"}},
	"multiclass_nms3": {op: "multiclass_nms3", in: []string{"BBoxes", "Scores", "RoisNum"}}, "matrix_nms": {op: "matrix_nms", in: []string{"BBoxes", "Scores"}},
	"prior_box": {op: "prior_box", in: []string{"Input", "Image"}}, "box_coder": {op: "box_coder", in: []string{"PriorBox", "PriorBoxVar", "TargetBox"}},
	"quantize_linear": {op: "quantize_linear", in: []string{"X", "Scale", "ZeroPoint"}}, "dequantize_linear": {op: "dequantize_linear", in: []string{"X", "Scale", "ZeroPoint"}},
	"rnn":          {op: "rnn", in: []string{"Input", "PreState", "WeightList", "SequenceLength", "DropoutState"}, out: []string{"Out", "DropoutState", "State", "Reserve"}},
	"assign_value": {op: "assign_value", in: []string{"Output"}},
}
