// Package tflite compiles TensorFlow Lite models and compares their outputs with those that TensorFlow Lite computed, operators and
// networks. It reads them from the folder LATHE_MODELS.
package tflite

import "lathe/internal/testkit/modeltest"

// A network is a model with data sets, whose arrays are named in:NAME and out:NAME, and what is promised of it.
type network struct {
	model string   // below LATHE_MODELS/tflite
	data  []string // below its folder expected
	// tolerance is how far outputs may be from those expected.
	tolerance modeltest.Distance
}

// float is that of networks in float32, and integers that of others.
var float = modeltest.Distance{Relative: 1e-4}

func integers(steps uint64) modeltest.Distance { return modeltest.Distance{Steps: steps} }

// networks lists what is promised: integers of convolutional networks are equal; behind a softmax, a table of exponentials, they are at most one off.
var networks = []network{
	{"coral/mobilenet_v1_0.25_128_quant.tflite", []string{"tflite_mnv1_025_128_u8_cat", "tflite_mnv1_025_128_u8_cat_285", "tflite_mnv1_025_128_u8_coral_cat", "tflite_mnv1_025_128_u8_dog_207", "tflite_mnv1_025_128_u8_zebra_340"}, integers(1)},
	{"coral/deeplabv3_mnv2_dm05_pascal_quant.tflite", []string{"tflite_deeplabv3_mnv2_dm05_pascal_quant"}, integers(0)},
	{"coral/split_concat.tflite", []string{"tflite_split_concat"}, integers(0)},
	{"mlperf_tiny/ic_resnet8_int8.tflite", []string{"tflite_ic_int8_cat", "tflite_ic_int8_frog", "tflite_ic_int8_ship"}, integers(1)},
	{"mlperf_tiny/kws_ref_int8.tflite", []string{"tflite_kws_int8_rand"}, integers(1)},
	{"tflite_micro/micro_speech_quantized.tflite", []string{"tflite_micro_speech_quantized"}, integers(1)},
	{"tflite_micro/hello_world_int8.tflite", []string{"tflite_hello_world_int8"}, integers(0)},
	{"tflite_micro/keyword_scrambled_8bit.tflite", []string{"tflite_keyword_scrambled_8bit"}, integers(2)},
	{"coral/keras_lstm_mnist_ptq.tflite", []string{"tflite_keras_lstm_mnist_nine"}, integers(2)},
	{"tflite_support/yamnet_audio_classifier_with_metadata.tflite", []string{"tflite_yamnet_speech", "tflite_yamnet_audio_classifier_with_metadata"}, float},
	{"tflite_support/mobilenet_v1_0.25_224_1_default_1.tflite", []string{"tflite_mnv1_025_224_f32_cat", "tflite_mnv1_025_224_f32_coral_cat", "tflite_mnv1_025_224_f32_dog_207"}, float},
	{"mlperf_tiny/ic_resnet8_fp32.tflite", []string{"tflite_ic_fp32_cat", "tflite_ic_fp32_frog", "tflite_ic_fp32_ship"}, float},
	{"mlperf_tiny/kws_ref_fp32.tflite", []string{"tflite_kws_fp32_rand"}, float},
	{"ultraface/version-slim-320_without_postprocessing.tflite", []string{"tflite_ultraface_slim"}, float},
	{"mediapipe/face_detection_short_range.tflite", []string{"tflite_blazeface"}, float},
	{"mediapipe/selfie_segmentation_landscape.tflite", []string{"onnx_selfie_landscape"}, float},
	{"tflite_micro/hello_world_float.tflite", []string{"tflite_hello_world"}, float},
	{"tflite_micro/trained_lstm.tflite", []string{"tflite_mnist_lstm_f32_3", "tflite_mnist_lstm_f32_7"}, float},
	{"tflite_support/movie_review.tflite", []string{"tflite_movie_review"}, float},
	{"misc/xor_model.tflite", []string{"tflite_xor_model"}, float},
	{"opencv_extra/replicate_by_pack.tflite", []string{"tflite_replicate_by_pack"}, float},
}

// levels are the -O levels at which everything is compiled.
var levels = []int{0, 3, 4}
