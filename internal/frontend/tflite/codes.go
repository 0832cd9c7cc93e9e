package tflite

import "strings"

// builtins are the operators that codes stand for, in the schema's order; those from StableHLO on are refused by the driver, by name.
var builtins = strings.Fields(`
	ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED
	HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU
	RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
	SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE
	MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
	LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG
	PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE
	EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN
	FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN
	FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE
	MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE
	RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
	NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE
	BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE
	REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL
	GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST
	BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
	STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR
	STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH
	STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT
	STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE`)

const customCode = 32

// optionTexts are the fields of the tables of options, in the order of their slots: name, kind and, where it is not zero, default. Kinds are those of
// optionKinds. Operators that are not here have no options, or none that matter.
var optionTexts = map[string]string{
	"CONV_2D":                      "padding i8, stride_w i32, stride_h i32, fused_activation_function i8, dilation_w_factor i32 1, dilation_h_factor i32 1",
	"DEPTHWISE_CONV_2D":            "padding i8, stride_w i32, stride_h i32, depth_multiplier i32, fused_activation_function i8, dilation_w_factor i32 1, dilation_h_factor i32 1",
	"CONV_3D":                      "padding i8, stride_d i32, stride_w i32, stride_h i32, fused_activation_function i8, dilation_d_factor i32 1, dilation_w_factor i32 1, dilation_h_factor i32 1",
	"CONV_3D_TRANSPOSE":            "padding i8, stride_d i32, stride_w i32, stride_h i32, fused_activation_function i8, dilation_d_factor i32 1, dilation_w_factor i32 1, dilation_h_factor i32 1",
	"AVERAGE_POOL_2D":              "padding i8, stride_w i32, stride_h i32, filter_width i32, filter_height i32, fused_activation_function i8",
	"MAX_POOL_2D":                  "padding i8, stride_w i32, stride_h i32, filter_width i32, filter_height i32, fused_activation_function i8",
	"L2_POOL_2D":                   "padding i8, stride_w i32, stride_h i32, filter_width i32, filter_height i32, fused_activation_function i8",
	"FULLY_CONNECTED":              "fused_activation_function i8, weights_format i8, keep_num_dims bool, asymmetric_quantize_inputs bool",
	"TRANSPOSE_CONV":               "padding i8, stride_w i32, stride_h i32, fused_activation_function i8",
	"SOFTMAX":                      "beta f32",
	"CONCATENATION":                "axis i32, fused_activation_function i8",
	"ADD":                          "fused_activation_function i8, pot_scale_int16 bool 1",
	"SUB":                          "fused_activation_function i8, pot_scale_int16 bool 1",
	"MUL":                          "fused_activation_function i8",
	"DIV":                          "fused_activation_function i8",
	"L2_NORMALIZATION":             "fused_activation_function i8",
	"LOCAL_RESPONSE_NORMALIZATION": "radius i32, bias f32, alpha f32, beta f32",
	"RESHAPE":                      "new_shape ints",
	"RESIZE_BILINEAR":              "new_height i32, new_width i32, align_corners bool, half_pixel_centers bool",
	"RESIZE_NEAREST_NEIGHBOR":      "align_corners bool, half_pixel_centers bool",
	"SPACE_TO_DEPTH":               "block_size i32",
	"DEPTH_TO_SPACE":               "block_size i32",
	"GATHER":                       "axis i32, batch_dims i32",
	"MEAN":                         "keep_dims bool",
	"SUM":                          "keep_dims bool",
	"REDUCE_PROD":                  "keep_dims bool",
	"REDUCE_MAX":                   "keep_dims bool",
	"REDUCE_MIN":                   "keep_dims bool",
	"REDUCE_ANY":                   "keep_dims bool",
	"REDUCE_ALL":                   "keep_dims bool",
	"SQUEEZE":                      "squeeze_dims ints",
	"SPLIT":                        "num_splits i32",
	"SPLIT_V":                      "num_splits i32",
	"STRIDED_SLICE":                "begin_mask i32, end_mask i32, ellipsis_mask i32, new_axis_mask i32, shrink_axis_mask i32, offset bool",
	"CAST":                         "in_data_type i8, out_data_type i8",
	"ARG_MAX":                      "output_type i8",
	"ARG_MIN":                      "output_type i8",
	"SHAPE":                        "out_type i8",
	"UNIQUE":                       "idx_out_type i8 2",
	"FAKE_QUANT":                   "min f32, max f32, num_bits i32, narrow_range bool",
	"PACK":                         "values_count i32, axis i32",
	"UNPACK":                       "num i32, axis i32",
	"ONE_HOT":                      "axis i32",
	"LEAKY_RELU":                   "alpha f32",
	"MIRROR_PAD":                   "mode i8",
	"REVERSE_SEQUENCE":             "seq_dim i32, batch_dim i32",
	"IF":                           "then_subgraph_index graph, else_subgraph_index graph",
	"WHILE":                        "cond_subgraph_index graph, body_subgraph_index graph",
	"CALL_ONCE":                    "init_subgraph_index graph",
	"BATCH_MATMUL":                 "adj_x bool, adj_y bool, asymmetric_quantize_inputs bool",
	"CUMSUM":                       "exclusive bool, reverse bool",
	"GELU":                         "approximate bool",
	"VAR_HANDLE":                   "container str, shared_name str",
	"BUCKETIZE":                    "boundaries floats",
	"SVDF":                         "rank i32, fused_activation_function i8, asymmetric_quantize_inputs bool",
	"RNN":                          "fused_activation_function i8, asymmetric_quantize_inputs bool",
	"UNIDIRECTIONAL_SEQUENCE_RNN":  "time_major bool, fused_activation_function i8, asymmetric_quantize_inputs bool",
	"LSTM":                         "fused_activation_function i8, cell_clip f32, proj_clip f32, kernel_type i8",
	"BIDIRECTIONAL_SEQUENCE_RNN":   "time_major bool, fused_activation_function i8, merge_outputs bool, asymmetric_quantize_inputs bool",
	"UNIDIRECTIONAL_SEQUENCE_LSTM": "fused_activation_function i8, cell_clip f32, proj_clip f32, time_major bool, asymmetric_quantize_inputs bool, diagonal_recurrent_tensors bool",
	"BIDIRECTIONAL_SEQUENCE_LSTM":  "fused_activation_function i8, cell_clip f32, proj_clip f32, merge_outputs bool, time_major bool 1, asymmetric_quantize_inputs bool",
}
