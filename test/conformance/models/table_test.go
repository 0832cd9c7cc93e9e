// Package models holds the tests that compile real networks through the public API, run them and compare with the outputs
// that others computed. They read the networks from the folder LATHE_MODELS, and the weights of the benchmark networks
// from LATHE_ZOO, which scripts/fill-zoo.sh fills.
package models

// A network is a model file and what it has to compute.
type network struct {
	model     string   // below LATHE_MODELS
	data      []string // data sets below LATHE_MODELS; readSet knows their forms
	quantised bool     // the model computes on integers: rounding may differ by steps
	rows      bool     // quantised, and each element of the output stands for itself: there is no top one
}

// networks lists every model file of the folders onnx, onnx_backend/light and zoo.
var networks = []network{
	{model: "onnx/averagepool_count_include_pad/model.onnx", data: []string{"onnx/averagepool_count_include_pad/io.npz"}},
	{model: "onnx/bert_toy/bert_toy_optimized.onnx", data: []string{"reference_outputs/onnx_bert_toy.npz"}},
	{model: "onnx/deconv_group/model.onnx", data: []string{"onnx/deconv_group/io.npz"}},
	{model: "onnx/mediapipe/face_detection_short_range.onnx", data: []string{"reference_outputs/onnx_blazeface.npz"}},
	{model: "onnx/mediapipe/selfie_segmentation_landscape.onnx", data: []string{"reference_outputs/onnx_selfie_landscape.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_static_fp32.onnx", data: []string{"reference_outputs/onnx_micro_kws_static_fp32.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_qdq.onnx", quantised: true, data: []string{"reference_outputs/onnx_micro_kws_qdq.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_static_qdq.onnx", quantised: true,
		data: []string{"reference_outputs/onnx_micro_kws_static_qdq.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_static_qoperator.onnx", quantised: true,
		data: []string{"reference_outputs/onnx_micro_kws_static_qoperator.npz"}},
	// The same network with other operators left in floats; ONNX Runtime's own answers differ by up to 1.3e-2.
	{model: "onnx/micro_kws_m/micro_kws_m_qoperator_add_shape.onnx", quantised: true,
		data: []string{"reference_outputs/onnx_micro_kws_static_qoperator.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_qoperator_avg_pool.onnx", quantised: true,
		data: []string{"reference_outputs/onnx_micro_kws_static_qoperator.npz"}},
	{model: "onnx/micro_kws_m/micro_kws_m_qoperator_softmax.onnx", quantised: true,
		data: []string{"reference_outputs/onnx_micro_kws_static_qoperator.npz"}},
	{model: "onnx/mnist_8/model.onnx", data: []string{
		"onnx/mnist_8/test_data_set_0", "onnx/mnist_8/test_data_set_1", "onnx/mnist_8/test_data_set_2"}},
	{model: "onnx/mobilenetv2_qdq_imagenet/model.onnx", quantised: true, data: []string{
		"onnx/mobilenetv2_qdq_imagenet/test_data_set_0",
		"reference_outputs/onnx_mobilenetv2_qdq_cat.npz", "reference_outputs/onnx_mobilenetv2_qdq_dog_207.npz"}},
	{model: "onnx/qrelu_1/model.onnx", quantised: true, rows: true, data: []string{"onnx/qrelu_1/io.npz"}},
	{model: "onnx/qsigmoid_1/model.onnx", quantised: true, rows: true, data: []string{"onnx/qsigmoid_1/io.npz"}},
	{model: "onnx/qtanh_1/model.onnx", quantised: true, rows: true, data: []string{"onnx/qtanh_1/io.npz"}},
	{model: "onnx/samplenet/samplenet.onnx", data: []string{"reference_outputs/onnx_samplenet_cat.npz",
		"reference_outputs/onnx_samplenet_frog.npz", "reference_outputs/onnx_samplenet_ship.npz"}},
	{model: "onnx/silero_vad/silero_vad_v5_16k_op15.onnx", data: []string{"reference_outputs/onnx_silero_v5_op15_16k.npz"}},
	{model: "onnx/squeezenet1.1/squeezenet1.1-rebuilt.onnx", data: []string{
		"onnx/squeezenet1.1/test_data_set/0", "onnx/squeezenet1.1/test_data_set/1", "onnx/squeezenet1.1/test_data_set/2",
		"reference_outputs/onnx_squeezenet1.1_cat.npz", "reference_outputs/onnx_squeezenet1.1_cat_285.npz",
		"reference_outputs/onnx_squeezenet1.1_dog_207.npz", "reference_outputs/onnx_squeezenet1.1_zebra_340.npz"}},
	{model: "onnx/super_resolution_10/model.onnx", data: []string{"onnx/super_resolution_10/test_data_set_0"}},
	{model: "onnx/ultraface/version-RFB-320.onnx", data: []string{"reference_outputs/onnx_ultraface_version-RFB-320.npz"}},
	{model: "onnx/ultraface/version-RFB-320_simplified.onnx",
		data: []string{"reference_outputs/onnx_ultraface_version-RFB-320_simplified.npz"}},
	{model: "onnx/ultraface/version-RFB-320_without_postprocessing.onnx",
		data: []string{"reference_outputs/onnx_ultraface_version-RFB-320_without_postprocessing.npz"}},
	{model: "onnx/ultraface/version-slim-320_without_postprocessing.onnx",
		data: []string{"reference_outputs/onnx_ultraface_version-slim-320_without_postprocessing.npz"}},

	light("bvlc_alexnet"), light("densenet121"), light("inception_v1"), light("inception_v2"), light("resnet50"),
	light("shufflenet"), light("squeezenet"), light("vgg19"), light("zfnet512"),

	zoo("alexnet"), zoo("bert_base"), zoo("densenet121"), zoo("efficientnet_b0"), zoo("googlenet"), zoo("light_inception_v2"),
	zoo("mobilenet_v2"), zoo("resnet101"), zoo("resnet18"), zoo("resnet50"), zoo("shufflenet_v2_x1_0"), zoo("squeezenet1_1"),
	zoo("vgg16"), zoo("vit_b_16"),
	quantisedZoo("mobilenet_v2_int8"), quantisedZoo("resnet18_int8"), quantisedZoo("resnet50_int8"),
}

// light is one of ONNX's models with constant weights.
func light(name string) network {
	return network{model: "onnx_backend/light/light_" + name + ".onnx",
		data: []string{"onnx_backend/light/light_" + name + "_output_0.pb"}}
}

// zoo is a benchmark network; its weights and inputs are in LATHE_ZOO.
func zoo(name string) network {
	return network{model: "zoo/" + name + ".onnx", data: []string{"zoo/expected/" + name + ".npz"}}
}

func quantisedZoo(name string) network {
	n := zoo(name)
	n.quantised = true
	return n
}
