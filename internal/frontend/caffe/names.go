package caffe

import "strings"

// old are the types of the first form of layers whose names are no words in capitals.
var old = map[string]string{"INNER_PRODUCT": "InnerProduct", "RELU": "ReLU", "PRELU": "PReLU", "TANH": "TanH", "LRN": "LRN", "MVN": "MVN", "ABSVAL": "AbsVal", "BNLL": "BNLL",
	"SOFTMAX_LOSS": "SoftmaxWithLoss", "HDF5_DATA": "HDF5Data", "HDF5_OUTPUT": "HDF5Output"}

// camel is the name of a type of the first form: CONVOLUTION is Convolution.
func camel(kind string) string {
	if name, ok := old[kind]; ok {
		return name
	}
	var b strings.Builder
	for part := range strings.SplitSeq(kind, "_") {
		if part != "" {
			b.WriteString(part[:1] + strings.ToLower(part[1:]))
		}
	}
	return b.String()
}
