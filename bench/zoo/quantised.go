package zoo

import (
	"embed"

	"lathe/bench/model"
	"lathe/internal/types"
)

// ranges are those of the values of networks, which program calibrate has found.
//
//go:embed ranges
var ranges embed.FS

// calibrated builds a network and quantises it by its ranges, as onnxruntime.quantization.quantize_static does.
func calibrated(build func(b *model.Builder), s model.Scheme) func(b *model.Builder) {
	return func(b *model.Builder) {
		build(b)
		if b.Observe {
			b.Static(s, "")
			return
		}
		text, err := ranges.ReadFile("ranges/" + b.Name() + ".txt")
		if err != nil {
			panic(err) // of a network without ranges: bench.sh onnxruntime calibrate NAME writes them
		}
		b.Static(s, string(text))
	}
}

// inTheRun builds a network and quantises it as onnxruntime.quantization.quantize_dynamic does.
func inTheRun(build func(b *model.Builder), s model.Dynamic) func(b *model.Builder) {
	return func(b *model.Builder) {
		build(b)
		b.Dynamic(s)
	}
}

// Schemes that users choose. Data of uint8 is what ONNX Runtime does unless it is told otherwise.
var (
	perChannel = model.Scheme{Data: types.U8, Weights: types.I8, Channels: true}
	headless   = model.Scheme{Data: types.U8, Weights: types.I8, Channels: true, Until: "Softmax"} // boxes and scores stay in float32
	perTensor  = model.Scheme{Data: types.U8, Weights: types.U8}
	symmetric  = model.Scheme{Data: types.I8, Weights: types.I8, Channels: true}
	reduced    = model.Scheme{Data: types.U8, Weights: types.I8, Channels: true, Reduced: true}
	joined     = model.Scheme{Data: types.U8, Weights: types.I8, Channels: true, Joined: true}
	operators  = model.Scheme{Data: types.U8, Weights: types.I8, Channels: true, Operators: true}
	operatorsU = model.Scheme{Data: types.U8, Weights: types.U8, Operators: true}
)

// Schemes of quantize_dynamic: what it does unless told otherwise, with scales per column, and with weights of uint8, as ConvInteger
// requires of ONNX Runtime.
var (
	columns  = model.Dynamic{Weights: types.I8, Channels: true, Tables: true}
	matrices = model.Dynamic{Weights: types.I8}
	unsigned = model.Dynamic{Weights: types.U8, Reduced: true, Convs: true}
)
