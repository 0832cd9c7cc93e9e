package tensorflow

import (
	"fmt"
	"strconv"
	"strings"
)

// resultNames are the names of the results of operators with several (core/ops/*.cc), by which bodies of functions refer to them.
var resultNames = map[string][]string{
	"FusedBatchNorm":   {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"},
	"FusedBatchNormV2": {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"},
	"FusedBatchNormV3": {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"},
	"Switch":           {"output_false", "output_true"}, "RefSwitch": {"output_false", "output_true"}, "Merge": {"output", "value_index"}, "RefMerge": {"output", "value_index"},
	"TopK": {"values", "indices"}, "TopKV2": {"values", "indices"}, "Unique": {"y", "idx"}, "UniqueV2": {"y", "idx"}, "UniqueWithCounts": {"y", "idx", "count"},
	"ListDiff": {"out", "idx"}, "MaxPoolWithArgmax": {"output", "argmax"}, "TensorArrayV3": {"handle", "flow"}, "TensorArrayConcatV3": {"value", "lengths"},
	"TensorListPopBack": {"output_handle", "tensor"}, "TensorListConcat": {"tensor", "lengths"}, "TensorListConcatV2": {"tensor", "lengths"},
	"LSTMBlockCell": {"i", "cs", "f", "o", "ci", "co", "h"}, "BlockLSTM": {"i", "cs", "f", "o", "ci", "co", "h"}, "BlockLSTMV2": {"i", "cs", "f", "o", "ci", "co", "h"},
	"GRUBlockCell": {"r", "u", "c", "h"}, "NonMaxSuppressionV4": {"selected_indices", "valid_outputs"},
	"NonMaxSuppressionV5":       {"selected_indices", "selected_scores", "valid_outputs"},
	"CombinedNonMaxSuppression": {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"},
	"CudnnRNN":                  {"output", "output_h", "output_c", "reserve_space"},
	"CudnnRNNV3":                {"output", "output_h", "output_c", "reserve_space", "host_reserved"},
	"Qr":                        {"q", "r"}, "Svd": {"s", "u", "v"}, "LogMatrixDeterminant": {"sign", "log_abs_determinant"}, "Moments": {"mean", "variance"},
	"SoftmaxCrossEntropyWithLogits": {"loss", "backprop"}, "SparseSoftmaxCrossEntropyWithLogits": {"loss", "backprop"},
	"QuantizeV2": {"output", "output_min", "output_max"}, "DecodeWav": {"audio", "sample_rate"},
}

// allResults are operators whose results are all outputs of a network that ends with them.
var allResults = map[string]bool{"TopK": true, "TopKV2": true, "NonMaxSuppressionV4": true, "NonMaxSuppressionV5": true, "CombinedNonMaxSuppression": true, "Unique": true, "MaxPoolWithArgmax": true}

// A ref is a result of a node, or an argument of a function.
type ref struct {
	node string
	at   int
}

// String is the name of the value: the node's own for its first result.
func (r ref) String() string {
	if r.at == 0 {
		return r.node
	}
	return fmt.Sprintf("%s:%d", r.node, r.at)
}

// maxResults bounds the number of a result.
const maxResults = 1 << 16

// parseRef reads an input of a node: "node", "node:k", or within functions "node:result:k". op tells a node's operator.
func parseRef(text string, op func(node string) string) (ref, error) {
	name, rest, some := strings.Cut(text, ":")
	r := ref{node: name}
	if !some {
		return r, nil
	}
	result, number, named := strings.Cut(rest, ":")
	if !named {
		number = rest
	}
	k, err := strconv.Atoi(number)
	if err != nil || k < 0 || k > maxResults {
		return r, fmt.Errorf("%.80q is no result of a node", text)
	}
	r.at = k
	if named {
		for i, n := range resultNames[op(name)] {
			if n == result {
				r.at += i
			}
		}
	}
	return r, nil
}
