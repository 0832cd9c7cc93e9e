package keras

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A layer is what a model's configuration says about one of its layers.
type layer struct {
	class, name string
	config      map[string]any
	calls       []application // of a functional model
}

// application is one application of a layer.
type application struct {
	args       []any          // references and literals by position
	kwargs     map[string]any // by name
	structured bool           // args are those of the call, each of its own; else a list of values is not told from several arguments
}

// A reference names a result: of a layer, the number of its call, and of the call's results.
type reference struct {
	layer      string
	call, part int
}

// parseModel decodes a configuration.
func parseModel(data []byte) (map[string]any, error) {
	if len(data) > maxConfig {
		return nil, fmt.Errorf("a configuration of %d bytes; up to %d are read", len(data), maxConfig)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	return m, nil
}

// isModel reports whether a class is a model, and not a layer.
func isModel(class string) bool {
	return class == "Sequential" || class == "Functional" || class == "Model"
}

// parseLayer reads an entry: {class_name, config}, with the name in either.
func parseLayer(v any) (*layer, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%.80v where a layer should be", v)
	}
	l := &layer{}
	l.class, _ = m["class_name"].(string)
	switch c := m["config"].(type) {
	case map[string]any:
		l.config = c
	case []any: // of a Sequential model, before Keras 2.2
		l.config = map[string]any{"layers": c}
	}
	if l.name, ok = m["name"].(string); !ok {
		l.name, _ = l.config["name"].(string)
	}
	if l.class == "" || l.config == nil {
		return nil, fmt.Errorf("layer %q has no class or no configuration", l.name)
	}
	module, _ := m["module"].(string)
	function, _ := l.config["function"].(string)
	switch {
	case l.class == "TFOpLambda" || l.class == "SlicingOpLambda":
		l.class = tensorflowFunction + function
	case strings.HasPrefix(module, "keras.src.ops.") || strings.HasPrefix(module, "keras.ops"):
		l.class = kerasFunction + l.class
	default:
		upgrade(l)
	}
	calls, _ := m["inbound_nodes"].([]any)
	for _, c := range calls {
		one, err := parseCall(c)
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", l.name, err)
		}
		l.calls = append(l.calls, one)
	}
	return l, nil
}

// parseCall reads an entry of inbound_nodes: {args, kwargs} of Keras 3, or a list of [layer, call, part, kwargs] before, or
// one such without a list around it.
func parseCall(v any) (application, error) {
	switch v := v.(type) {
	case map[string]any:
		args, ok := v["args"].([]any)
		if !ok {
			return application{}, errors.New("a call without args")
		}
		kwargs, _ := v["kwargs"].(map[string]any)
		return application{args, kwargs, true}, nil
	case []any:
		if len(v) > 0 {
			if _, ok := v[0].(string); ok {
				v = []any{v}
			}
		}
		c := application{}
		for _, x := range v {
			entry, ok := x.([]any)
			_, isRef := asReference(x)
			switch {
			case ok && len(entry) > 2 && entry[0] == "_CONSTANT_VALUE":
				c.args = append(c.args, entry[2])
			case ok && isRef:
				c.args = append(c.args, x)
			default:
				return c, fmt.Errorf("%.80v where a reference [layer, call, result] should be", x)
			}
			if len(entry) > 3 {
				if kw, ok := entry[3].(map[string]any); ok && len(kw) > 0 {
					c.kwargs = kw
				}
			}
		}
		return c, nil
	}
	return application{}, fmt.Errorf("%.80v where a call should be", v)
}

// asReference reads [layer, call, part, ...], or Keras 3's tensor with its history.
func asReference(v any) (reference, bool) {
	if m, ok := v.(map[string]any); ok && m["class_name"] == "__keras_tensor__" {
		config, _ := m["config"].(map[string]any)
		v = config["keras_history"]
	}
	list, ok := v.([]any)
	if !ok || len(list) < 3 {
		return reference{}, false
	}
	name, ok1 := list[0].(string)
	call, ok2 := list[1].(float64)
	part, ok3 := list[2].(float64)
	const most = 1 << 16
	if !ok1 || !ok2 || !ok3 || call < 0 || part < 0 || call > most || part > most {
		return reference{}, false
	}
	return reference{name, int(call), int(part)}, true
}

// references lists the references in v, at any depth.
func references(v any) []reference {
	if r, ok := asReference(v); ok {
		return []reference{r}
	}
	var list []reference
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			list = append(list, references(x)...)
		}
	case map[string]any: // outputs by name, or a tuple
		for _, key := range sortedKeys(v) {
			list = append(list, references(v[key])...)
		}
	}
	return list
}

// literal is a value of a configuration without what says of which class it is: of tuples, arrays and names of types.
func literal(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	switch m["class_name"] {
	case "__tuple__", "DTypePolicy":
		if list, ok := m["items"]; ok {
			return list
		}
		if config, ok := m["config"].(map[string]any); ok && m["class_name"] == "DTypePolicy" {
			return config["name"]
		}
		return m["config"]
	case "__numpy__", "__tensor__":
		config, _ := m["config"].(map[string]any)
		return config["value"]
	}
	return v
}

// isFunction reports whether a layer is a function of tensors: an operation of Keras 3, or one of TensorFlow in a model of Keras 2.
func (l *layer) isFunction() bool {
	return strings.HasPrefix(l.class, kerasFunction) || strings.HasPrefix(l.class, tensorflowFunction)
}

// idle reports whether an option does not matter for what the layer computes. Functions have arguments under names that layers have for other things.
func (l *layer) idle(option string) bool {
	switch {
	case !l.isFunction():
		return idle(option)
	case option == "dtype":
		return strings.HasPrefix(l.class, tensorflowFunction) // of the layer around the function
	}
	return option == "name" || option == "trainable" || option == "function"
}

// What functions are called by, with their name behind it.
const (
	kerasFunction      = "ops."
	tensorflowFunction = "tf."
)

// upgrade spells a layer of Keras 1 as Keras 2 does.
func upgrade(l *layer) {
	for old, name := range map[string]string{
		"Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D", "AtrousConvolution2D": "Conv2D",
		"Deconvolution2D": "Conv2DTranspose", "SeparableConvolution2D": "SeparableConv2D",
	} {
		if l.class == old {
			l.class = name
		}
	}
	for old, name := range map[string]string{
		"border_mode": "padding", "subsample": "strides", "subsample_length": "strides", "bias": "use_bias", "inner_activation": "recurrent_activation",
		"atrous_rate": "dilation_rate", "pool_length": "pool_size",
	} {
		if v, ok := l.config[old]; ok {
			l.config[name] = v
			delete(l.config, old)
		}
	}
	if order, ok := l.config["dim_ordering"].(string); ok {
		delete(l.config, "dim_ordering")
		l.config["data_format"] = "channels_last"
		if order == "th" {
			l.config["data_format"] = "channels_first"
		}
	}
}

// idle reports whether an option of a layer does not matter for what it computes once it is trained.
func idle(option string) bool {
	for _, end := range []string{"_initializer", "_regularizer", "_constraint"} {
		if strings.HasSuffix(option, end) {
			return true
		}
	}
	switch option {
	case "name", "trainable", "dtype", "batch_input_shape", "batch_shape", "input_dtype", "sparse", "ragged", "seed", "momentum", "filters", "units",
		"unroll", "dropout", "recurrent_dropout", "rate", "noise_shape", "depth_multiplier", "renorm", "fused", "synchronized",
		"virtual_batch_size", "input_dim", "output_dim", "input_length", "nb_filter", "nb_row", "nb_col", "filter_length", "init", "W_constraint", "b_constraint",
		"dropout_W", "dropout_U", "autocast", "quantization_config", "lora_rank", "cache", "sparse_", "optional", "build_config",
		"use_cudnn", "flash_attention", "dynamic":
		return true
	}
	return false
}
