package keras

import (
	"fmt"
	"math"
	"testing"
)

// Layers whose results are found by hand.
func TestRows(t *testing.T) {
	row := numbers([]int{1, 4}, 1, -2, 3, 0)
	square := numbers([]int{1, 2, 2, 1}, 1, 2, 3, 5)
	for _, c := range []struct {
		class, config string
		x             array
		weights       []array
		want          []float64
	}{
		{"Activation", `"activation": "hard_shrink"`, row, nil, []float64{1, -2, 3, 0}},
		{"Activation", `"activation": "soft_shrink"`, row, nil, []float64{0.5, -1.5, 2.5, 0}},
		{"Activation", `"activation": {"class_name": "LeakyReLU", "config": {"name": "l", "alpha": 0.5}}`, row, nil, []float64{1, -1, 3, 0}},
		{"Activation", `"activation": {"class_name": "function", "config": "relu"}`, row, nil, []float64{1, 0, 3, 0}},
		{"Activation", `"activation": "squareplus"`, row, nil, []float64{(1 + math.Sqrt(5)) / 2, -1 + math.Sqrt2, (3 + math.Sqrt(13)) / 2, 1}},
		{"Activation", `"activation": "sparse_plus"`, row, nil, []float64{1, 0, 3, 0.25}},
		{"Activation", `"activation": "log_sigmoid"`, numbers([]int{1, 1}, 0), nil, []float64{-math.Ln2}},
		{"Activation", `"activation": "glu"`, row, nil, []float64{1 / (1 + math.Exp(-3)), -1}},
		{"Identity", ``, row, nil, []float64{1, -2, 3, 0}},
		{"RandomFlip", `"mode": "horizontal", "seed": 3, "data_format": "channels_last"`, square, nil, []float64{1, 2, 3, 5}},
		{"Softmax", `"axis": [1, 2]`, numbers([]int{1, 1, 2}, 0, float32(math.Log(3))), nil, []float64{0.25, 0.75}},
		{"GlobalAveragePooling1D", `"data_format": "channels_last"`, numbers([]int{1, 2, 2}, 1, 2, 3, 6), nil, []float64{2, 4}},
		{"AdaptiveAveragePooling1D", `"output_size": 2, "data_format": "channels_last"`, numbers([]int{1, 3, 1}, 1, 3, 8), nil, []float64{2, 5.5}},
		{"AdaptiveMaxPooling2D", `"output_size": [1, 2], "data_format": "channels_last"`, square, nil, []float64{3, 5}},
		{"Discretization", `"bin_boundaries": [-1.0, 0.0, 2.0], "output_mode": "int"`, row, nil, []float64{2, 0, 3, 2}},
		{"Discretization", `"bin_boundaries": [0.0], "output_mode": "count"`, row, nil, []float64{1, 3}},
		{"CategoryEncoding", `"num_tokens": 4, "output_mode": "multi_hot"`, numbers([]int{1, 3}, 0, 2, 2), nil, []float64{1, 0, 1, 0}},
		{"CategoryEncoding", `"num_tokens": 4, "output_mode": "count"`, numbers([]int{1, 3}, 0, 2, 2), nil, []float64{1, 0, 2, 0}},
		{"CategoryEncoding", `"num_tokens": 3, "output_mode": "one_hot"`, numbers([]int{1, 1}, 1), nil, []float64{0, 1, 0}},
		{"IntegerLookup", `"vocabulary": [10, 20], "num_oov_indices": 1, "mask_token": 0, "oov_token": -1, "output_mode": "int"`, numbers([]int{1, 4}, 20, 0, 7, 10), nil, []float64{3, 0, 1, 2}},
		{"Normalization", `"axis": [-1], "mean": [1, 2], "variance": [4, 9]`, numbers([]int{1, 2}, 3, 8), nil, []float64{1, 2}},
		{"Normalization", `"axis": [-1], "invert": true`, numbers([]int{1, 2}, 1, 2), []array{numbers([]int{2}, 1, 2), numbers([]int{2}, 4, 9), numbers(nil, 0)}, []float64{3, 8}},
		{"Rescaling", `"scale": [2, 3], "offset": 1`, numbers([]int{1, 2}, 3, 8), nil, []float64{7, 25}},
		{"CenterCrop", `"height": 1, "width": 1, "data_format": "channels_last"`, numbers([]int{1, 3, 3, 1}, 1, 2, 3, 4, 5, 6, 7, 8, 9), nil, []float64{5}},
		{"Resizing", `"height": 1, "width": 1, "interpolation": "nearest", "data_format": "channels_last"`, square, nil, []float64{5}},
		{"Resizing", `"height": 1, "width": 2, "interpolation": "bilinear", "pad_to_aspect_ratio": true, "fill_value": 7.0, "data_format": "channels_last"`, numbers([]int{1, 1, 1, 1}, 3), nil, []float64{3, 7}},
		{"Resizing", `"height": 1, "width": 1, "interpolation": "nearest", "crop_to_aspect_ratio": true, "data_format": "channels_last"`, numbers([]int{1, 1, 3, 1}, 1, 2, 3), nil, []float64{2}},
		{"EinsumDense", `"equation": "ab,bc->ac", "output_shape": [1], "bias_axes": "c", "activation": "relu"`, numbers([]int{1, 2}, 1, 2), []array{numbers([]int{2, 1}, 3, 4), numbers([]int{1}, 0.5)}, []float64{11.5}},
		{"MaxoutDense", `"output_dim": 1, "nb_feature": 2, "bias": true`, numbers([]int{1, 2}, 1, 2), []array{numbers([]int{2, 2, 1}, 1, 1, 3, -1), numbers([]int{2, 1}, 1, 9)}, []float64{10}},
		{"GroupNormalization", `"groups": 2, "axis": -1, "epsilon": 0.0, "center": true, "scale": false`, numbers([]int{1, 4}, 1, 3, 10, 30), []array{numbers([]int{4}, 0, 0, 1, 1)}, []float64{-1, 1, 0, 2}},
		{"LayerNormalization", `"axis": [1], "epsilon": 0.0, "center": true, "scale": true`, numbers([]int{1, 2, 2}, 1, 10, 3, 30), []array{numbers([]int{2}, 1, 2), numbers([]int{2}, 0, 5)}, []float64{-1, -1, 7, 7}},
		{"RMSNormalization", `"axis": -1, "epsilon": 0.0`, numbers([]int{1, 2}, 1, 7), []array{numbers([]int{2}, 5, 10)}, []float64{1, 14}},
		{"LayerScale", `"init_values": 1e-06, "projection_dim": 2`, numbers([]int{1, 2, 2}, 1, 2, 3, 4), []array{numbers([]int{2}, 3, -1)}, []float64{3, -2, 9, -4}},
		{"StochasticDepth", `"drop_path_rate": 0.1`, row, nil, []float64{1, -2, 3, 0}},
		{"FixedDropout", `"rate": 0.2, "noise_shape": [null, 1, 1, null], "seed": null`, row, nil, []float64{1, -2, 3, 0}},
		{"BatchNormalization", `"axis": 2, "epsilon": 0.0`, numbers([]int{1, 1, 2, 1}, 3, 5), []array{numbers([]int{2}, 1, 2), numbers([]int{2}, 0, 1), numbers([]int{2}, 1, 1), numbers([]int{2}, 4, 1)}, []float64{1, 9}},
		{"SpectralNormalization", `"power_iterations": 1, "layer": {"class_name": "Dense", "config": {"name": "d", "units": 1, "activation": "linear", "use_bias": false}}`, numbers([]int{1, 2}, 1, 2), []array{numbers([]int{2, 1}, 3, 4), numbers([]int{1, 1}, 9)}, []float64{11}},
		{"LocallyConnected1D", `"filters": 1, "kernel_size": [2], "strides": [1], "padding": "valid", "data_format": "channels_last", "activation": "linear", "use_bias": true, "implementation": 1`,
			numbers([]int{1, 3, 1}, 1, 2, 3), []array{numbers([]int{2, 2, 1}, 1, 10, 100, 1000), numbers([]int{2, 1}, 0.5, 0.25)}, []float64{21.5, 3200.25}},
		{"LocallyConnected2D", `"filters": 1, "kernel_size": [1, 2], "strides": [2, 1], "padding": "valid", "data_format": "channels_last", "activation": "linear", "use_bias": false, "implementation": 1`,
			numbers([]int{1, 3, 2, 1}, 1, 2, 3, 4, 5, 6), []array{numbers([]int{2, 2, 1}, 1, 10, 100, 1000)}, []float64{21, 6500}},
		{"LocallyConnected2D", `"filters": 1, "kernel_size": [1, 2], "strides": [1, 1], "padding": "valid", "data_format": "channels_first", "activation": "linear", "use_bias": false, "implementation": 1`,
			numbers([]int{1, 2, 1, 2}, 1, 2, 3, 4), []array{numbers([]int{1, 4, 1}, 1, 10, 100, 1000)}, []float64{4321}},
	} {
		file := fileOf(functional("l", inputText("x", c.x.shape...), layerText(c.class, "l", c.config, "x")), "2.11.0", map[string][]array{"l": c.weights})
		sameNumbers(t, c.class+" "+c.config, evaluate(t, file, c.x)[0], c.want...)
	}
}

// Layers of two or three inputs.
func TestJoined(t *testing.T) {
	a, b := numbers([]int{1, 2, 2}, 1, 2, 3, 4), numbers([]int{1, 2, 2}, 1, 0, 0, 1)
	e := math.E
	for _, c := range []struct {
		class, config string
		weights       []array
		want          []float64
	}{
		{"Dot", `"axes": [2, 2], "normalize": false`, nil, []float64{1, 2, 3, 4}},
		{"Dot", `"axes": 1, "normalize": false`, nil, []float64{1, 3, 2, 4}},
		{"Dot", `"axes": [2, 2], "normalize": true`, nil, []float64{1 / math.Sqrt(5), 2 / math.Sqrt(5), 0.6, 0.8}},
		{"Merge", `"mode": "concat", "concat_axis": 1`, nil, []float64{1, 2, 3, 4, 1, 0, 0, 1}},
		{"Attention", `"use_scale": false, "score_mode": "dot"`, nil, []float64{1 / (1 + e), e / (1 + e), 1 / (1 + e), e / (1 + e)}},
		{"Attention", `"use_scale": true, "score_mode": "dot"`, []array{numbers(nil, 2)}, []float64{1 / (1 + e*e), e * e / (1 + e*e), 1 / (1 + e*e), e * e / (1 + e*e)}},
		{"Attention", `"use_scale": false, "causal": true`, nil, []float64{1, 0, 1 / (1 + e), e / (1 + e)}},
		{"AdditiveAttention", `"use_scale": true`, []array{numbers([]int{2}, 0, 0)}, []float64{0.5, 0.5, 0.5, 0.5}},
	} {
		file := fileOf(functional("l", inputText("a", 1, 2, 2), inputText("b", 1, 2, 2), layerText(c.class, "l", c.config, "a b")), "2.11.0", map[string][]array{"l": c.weights})
		sameNumbers(t, c.class+" "+c.config, evaluate(t, file, a, b)[0], c.want...)
	}
}

// Masks reach means, attention and joined layers.
func TestMasks(t *testing.T) {
	x := numbers([]int{1, 3, 1}, 1, 0, 5)
	masking := layerText("Masking", "m", `"mask_value": 0.0`, "x")
	file := fileOf(functional("l", inputText("x", 1, 3, 1), masking, layerText("Dropout", "d", `"rate": 0.5`, "m"), layerText("GlobalAveragePooling1D", "l", ``, "d")), "2.11.0", nil)
	sameNumbers(t, "mean", evaluate(t, file, x)[0], 3)

	// The masked step of the value has no part; the scores are 5*1 and 5*5, and so on for each query.
	file = fileOf(functional("l", inputText("q", 1, 1, 1), inputText("x", 1, 3, 1), masking, layerText("Attention", "l", `"use_scale": false`, "q m")), "2.11.0", nil)
	p := 1 / (1 + math.Exp(0.4))
	sameNumbers(t, "attention", evaluate(t, file, numbers([]int{1, 1, 1}, 0.1), x)[0], p+5*(1-p))

	file = fileOf(functional("l", inputText("x", 1, 3, 1), inputText("y", 1, 3, 1), masking, layerText("Masking", "n", `"mask_value": 2.0`, "y"), layerText("Add", "a", ``, "m n"),
		layerText("GlobalAveragePooling1D", "l", ``, "a")), "2.11.0", nil)
	sameNumbers(t, "add", evaluate(t, file, x, numbers([]int{1, 3, 1}, 2, 3, 4))[0], 9)
}

// An Embedding's mask reaches an LSTM, whose state then is that of the steps that count.
func TestEmbeddingMask(t *testing.T) {
	table := waves(1, 4, 2)
	k, r, bias := waves(2, 2, 12), waves(3, 3, 12), waves(4, 12)
	file := fileOf(functional("l", inputText("x", 1, 5), layerText("Embedding", "e", `"input_dim": 4, "output_dim": 2, "mask_zero": true`, "x"), layerText("LSTM", "l", lstmOptions, "e")), "2.11.0",
		map[string][]array{"e": {table}, "l": {k, r, bias}})
	var steps [][]float64
	for _, i := range []int{2, 3, 1} {
		steps = append(steps, []float64{float64(table.data[2*i]), float64(table.data[2*i+1])})
	}
	_, s := lstmCell(3, k, r, bias).run(steps, nil, nil, false)
	sameNumbers(t, "last", evaluate(t, file, numbers([]int{1, 5}, 2, 3, 0, 1, 0))[0], s[0]...)
}

// A MultiHeadAttention with a mask, step by step.
func TestMultiHead(t *testing.T) {
	const words, width, heads, size = 3, 4, 2, 3
	x := waves(1, 1, words, width)
	mask := numbers([]int{1, words, words}, 1, 0, 1, 1, 1, 0, 0, 0, 1)
	weights := []array{waves(2, width, heads, size), waves(3, heads, size), waves(4, width, heads, size), waves(5, heads, size), waves(6, width, heads, size), waves(7, heads, size), waves(8, heads, size, width), waves(9, width)}
	part := func(k, h, word int) []float64 { // projection k of a word
		y := make([]float64, size)
		for d := range y {
			y[d] = float64(weights[2*k+1].data[h*size+d])
			for i := range width {
				y[d] += float64(x.data[word*width+i]) * float64(weights[2*k].data[(i*heads+h)*size+d])
			}
		}
		return y
	}
	var want []float64
	for q := range words {
		out := make([]float64, width)
		for i := range out {
			out[i] = float64(weights[7].data[i])
		}
		for h := range heads {
			p, sum := make([]float64, words), 0.
			for k := range words {
				if mask.data[q*words+k] == 0 {
					continue
				}
				for d := range size {
					p[k] += part(0, h, q)[d] * part(1, h, k)[d] / math.Sqrt(size)
				}
				p[k] = math.Exp(p[k])
				sum += p[k]
			}
			for k := range words {
				if mask.data[q*words+k] == 0 {
					continue
				}
				for d := range size {
					v := part(2, h, k)[d] * p[k] / sum
					for i := range width {
						out[i] += v * float64(weights[6].data[(h*size+d)*width+i])
					}
				}
			}
		}
		want = append(want, out...)
	}
	layer := `{"class_name": "MultiHeadAttention", "name": "l", "config": {"name": "l", "num_heads": 2, "key_dim": 3, "value_dim": 3, "use_bias": true, "output_shape": null, "attention_axes": [1]},
		"inbound_nodes": [[["x", 0, 0, {"value": ["x", 0, 0], "attention_mask": ["m", 0, 0]}]]]}`
	config := functional("l", inputText("x", 1, words, width), inputText("m", 1, words, words), layer)
	sameNumbers(t, "h5", evaluate(t, fileOf(config, "2.11.0", map[string][]array{"l": weights}), x, mask)[0], want...)
	byPart := map[string][]array{}
	for k, name := range []string{"query_dense", "key_dense", "value_dense", "output_dense"} {
		byPart["layers/multi_head_attention/"+name] = weights[2*k : 2*k+2]
	}
	sameNumbers(t, "keras", evaluate(t, archiveOf(t, config, byPart), x, mask)[0], want...)
}

// A model is applied to each step.
func TestTimeDistributedModel(t *testing.T) {
	inner := `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "Dense", "config": {"name": "d", "batch_input_shape": [null, 2], "units": 1, "activation": "relu", "use_bias": false}}]}}`
	weights := map[string][]array{"layers/time_distributed/layer/layers/dense": {numbers([]int{2, 1}, 3, 4)}}
	out := evaluate(t, archiveOf(t, functional("l", inputText("x", 1, 2, 2), layerText("TimeDistributed", "l", `"layer": `+inner, "x")), weights), numbers([]int{1, 2, 2}, 1, 2, -1, -1))
	sameNumbers(t, "TimeDistributed", out[0], 11, 0)
}

// Functions of keras.ops and of TensorFlow, as models hold them.
func TestFunctions(t *testing.T) {
	x, y := numbers([]int{1, 4}, 1, -2, 3, 0.5), numbers([]int{1, 4}, 2, 2, 4, 4)
	tensor := func(name string) string {
		return fmt.Sprintf(`{"class_name": "__keras_tensor__", "config": {"shape": [1, 4], "dtype": "float32", "keras_history": ["%s", 0, 0]}}`, name)
	}
	three := func(module, class, config, args, kwargs string) string {
		return fmt.Sprintf(`{"module": "keras.src.ops.%s", "class_name": "%s", "name": "f", "config": {"name": "f"%s}, "inbound_nodes": [{"args": [%s], "kwargs": {%s}}]}`, module, class, config, args, kwargs)
	}
	two := func(class, function, args string) string {
		return fmt.Sprintf(`{"class_name": "%s", "name": "f", "config": {"name": "f", "trainable": true, "dtype": "float32", "function": "%s"}, "inbound_nodes": [%s]}`, class, function, args)
	}
	for what, c := range map[string]struct {
		layer string
		want  []float64
	}{
		"add":         {three("numpy", "Add", "", tensor("x")+", "+tensor("y"), ""), []float64{3, 0, 7, 4.5}},
		"1 - x":       {three("numpy", "Subtract", "", "1.0, "+tensor("x"), ""), []float64{0, 3, -2, 0.5}},
		"mean":        {three("numpy", "Mean", `, "axis": [1], "keepdims": true`, tensor("x"), ""), []float64{0.625}},
		"reshape":     {three("numpy", "Reshape", `, "newshape": [2, -1]`, tensor("x"), ""), []float64{1, -2, 3, 0.5}},
		"concatenate": {three("numpy", "Concatenate", `, "axis": 0`, "["+tensor("x")+", "+tensor("y")+"]", ""), []float64{1, -2, 3, 0.5, 2, 2, 4, 4}},
		"clip":        {three("numpy", "Clip", `, "x_min": -1.0, "x_max": 2.0`, tensor("x"), ""), []float64{1, -1, 2, 0.5}},
		"getitem": {three("numpy", "GetItem", "", tensor("x")+`, [{"class_name": "__ellipsis__", "config": {}}, {"class_name": "__slice__", "config": {"start": 1, "stop": null, "step": 2}}]`, ""),
			[]float64{-2, 0.5}},
		"cast":    {three("core", "Cast", `, "dtype": "int32"`, tensor("x"), ""), []float64{1, -2, 3, 0}},
		"einsum":  {three("numpy", "Einsum", `, "subscripts": "ij,kj->ik"`, tensor("x")+", "+tensor("y"), ""), []float64{12}},
		"relu":    {three("nn", "Relu", "", tensor("x"), ""), []float64{1, 0, 3, 0.5}},
		"where":   {three("numpy", "Where", "", tensor("x")+`, `+tensor("y")+`, 0.0`, ""), []float64{2, 2, 4, 4}},
		"roll":    {three("numpy", "Roll", `, "shift": 1, "axis": 1`, tensor("x"), ""), []float64{0.5, 1, -2, 3}},
		"split":   {three("numpy", "Split", `, "indices_or_sections": 2, "axis": 1`, tensor("x"), ""), []float64{1, -2}},
		"keyword": {three("numpy", "Power", "", "", `"x1": `+tensor("y")+`, "x2": 2.0`), []float64{4, 4, 16, 16}},

		"tf add":       {two("TFOpLambda", "math.add", `[["x", 0, 0, {"y": ["y", 0, 0], "name": null}]]`), []float64{3, 0, 7, 4.5}},
		"tf 2 * x":     {two("TFOpLambda", "math.multiply", `[["x", 0, 0, {"y": 2.0, "name": null}]]`), []float64{2, -4, 6, 1}},
		"tf 1 - x":     {two("TFOpLambda", "math.subtract", `[["_CONSTANT_VALUE", -1, 1.0, {"y": ["x", 0, 0]}]]`), []float64{0, 3, -2, 0.5}},
		"tf concat":    {two("TFOpLambda", "concat", `[["x", 0, 0, {"axis": 1}], ["y", 0, 0, {"axis": 1}]]`), []float64{1, -2, 3, 0.5, 2, 2, 4, 4}},
		"tf mean":      {two("TFOpLambda", "math.reduce_mean", `[["x", 0, 0, {"axis": -1, "keepdims": false}]]`), []float64{0.625}},
		"tf transpose": {two("TFOpLambda", "compat.v1.transpose", `[["x", 0, 0, {"perm": [1, 0]}]]`), []float64{1, -2, 3, 0.5}},
		"tf relu6":     {two("TFOpLambda", "nn.relu6", `[["x", 0, 0, {}]]`), []float64{1, 0, 3, 0.5}},
		"tf slice": {two("SlicingOpLambda", "__operators__.getitem", `[["x", 0, 0, {"slice_spec": [{"start": null, "stop": null, "step": null}, -1]}]]`),
			[]float64{0.5}},
		"tf range": {two("SlicingOpLambda", "__operators__.getitem", `[["x", 0, 0, {"slice_spec": [0, {"start": 1, "stop": -1, "step": null}]}]]`), []float64{-2, 3}},
	} {
		file := fileOf(functional("f", inputText("x", 1, 4), inputText("y", 1, 4), c.layer), "3.0.0", nil)
		sameNumbers(t, what, evaluate(t, file, x, y)[0], c.want...)
	}
}
