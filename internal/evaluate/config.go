package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/tool/readjson"
)

// An Experiment is one variant of a configuration: a model or a package, and flags of compile.
type Experiment struct {
	Name    string // "": after the model and the options
	Model   string
	Options Options // by name
}

// ReadConfig reads a configuration:
//
//	{"experiments": [{"name": "nhwc", "model": "fp32.onnx", "opt-level": 3, "desired-layout": ["NHWC"]}]}
//
// Keys other than name and model are flags of compile. A value is a string, a number, true or false, or a list of these, which
// stands for the flag with its values in order.
func ReadConfig(data []byte) ([]Experiment, error) {
	var file struct {
		Experiments []map[string]any `json:"experiments"`
	}
	if err := readjson.Strict(data, &file); err != nil {
		return nil, err
	}
	if len(file.Experiments) == 0 {
		return nil, errors.New(`there are no experiments (the form is {"experiments": [{"name": "NAME", "model": "FILE", "opt-level": 3}]})`)
	}
	if len(file.Experiments) > maxVariants {
		return nil, fmt.Errorf("these are more than %d experiments", maxVariants)
	}
	var list []Experiment
	for i, keys := range file.Experiments {
		var e Experiment
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			value, err := valueText(keys[key])
			if err != nil {
				return nil, fmt.Errorf("experiment %d: %s: %w", i+1, key, err)
			}
			switch key {
			case "name":
				e.Name = value
			case "model":
				e.Model = value
			default:
				e.Options = append(e.Options, Option{key, value})
			}
		}
		if e.Model == "" {
			return nil, fmt.Errorf("experiment %d has no model", i+1)
		}
		if e.Name != "" && e.Name != fileName(e.Name) {
			return nil, fmt.Errorf("experiment %d: the name %q is no name of files (letters, digits, '.', '_', '+' and '-')", i+1, e.Name)
		}
		list = append(list, e)
	}
	return list, nil
}

// valueText is a value as it is typed behind a flag; those of a list are separated by commas.
func valueText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, x := range v {
			if _, list := x.([]any); list {
				return "", errors.New("is a list of lists")
			}
			part, err := valueText(x)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("is neither text nor a number, nor a list of these")
}
