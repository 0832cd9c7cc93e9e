package tflite

import "lathe/internal/frontend"

// options are what the user chooses for a model.
type options struct {
	reference bool // 8 bits are computed as TensorFlow Lite's reference kernels do, and TensorFlow Lite Micro
	real      bool // 8 bits are computed as real numbers between their scales
	floats    bool // 8-bit weights with float32 data are float32 weights
	states    bool // variables are inputs and outputs
}

const (
	arithmeticOption = "tflite-arithmetic"
	hybridOption     = "hybrid"
)

var formatOptions = []frontend.Option{
	{Name: arithmeticOption, Doc: "arithmetic of 8-bit TensorFlow Lite models: xnnpack; reference, the fixed-point one of the reference kernels and of TensorFlow Lite Micro; or qdq, real numbers between their scales, as ONNX has them", Values: []string{"xnnpack", "reference", "qdq"}},
	{Name: hybridOption, Doc: "how TensorFlow Lite layers with 8-bit weights and float32 data are computed: integer (data is quantised in the run) or float (weights are dequantised)", Values: []string{"integer", "float"}},
	frontend.StateOption,
}

func (o *options) set(option, value string) {
	switch option {
	case arithmeticOption:
		o.reference, o.real = value == "reference", value == "qdq"
	case hybridOption:
		o.floats = value == "float"
	case frontend.StateOption.Name:
		o.states = value == "io"
	}
}

func (c *call) options() *options { return c.Node.Attrs.(attributes).options }
