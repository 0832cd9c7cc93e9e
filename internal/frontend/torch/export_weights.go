package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"lathe/internal/container/pickle"
	"lathe/internal/types"
)

// exportWeights finds the tensors of a program by name: as files of their own with a list of them, or in archives of torch.save.
func exportWeights(a *archive, model string) (map[string]*stored, error) {
	weights := map[string]*stored{}
	for _, folder := range []string{"weights", "constants"} {
		list := fmt.Sprintf("data/%s/%s_%s_config.json", folder, model, folder)
		if a.has(list) {
			if err := listedWeights(a, "data/"+folder+"/", list, weights); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{"serialized_state_dict.pt", "serialized_constants.pt", "serialized_state_dict.json", "serialized_constants.json"} {
		if a.has(name) {
			data, err := a.read(name)
			if err != nil {
				return nil, err
			}
			if err := savedWeights(data, "", weights); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return weights, nil
}

// listedWeights reads the list of a folder of weights. Several can be parts of one file.
func listedWeights(a *archive, folder, list string, weights map[string]*stored) error {
	text, err := a.read(list)
	if err != nil {
		return err
	}
	var config struct {
		Config map[string]struct {
			Path   string        `json:"path_name"`
			Pickle bool          `json:"use_pickle"`
			Meta   *exportTensor `json:"tensor_meta"`
		} `json:"config"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	for name, w := range config.Config {
		if strings.HasPrefix(w.Path, "custom_obj") {
			continue
		}
		data, err := a.read(folder + w.Path)
		if err != nil {
			return err
		}
		if w.Pickle {
			if err := savedWeights(data, name, weights); err != nil {
				return fmt.Errorf("%s: %w", w.Path, err)
			}
			continue
		}
		if w.Meta == nil {
			return fmt.Errorf("%s: the weight %q has no type", list, name)
		}
		if weights[name], err = w.Meta.stored(data); err != nil {
			return fmt.Errorf("%s: the weight %q: %w", list, name, err)
		}
	}
	return nil
}

// stored is a tensor of elements in data.
func (t *exportTensor) stored(data []byte) (*stored, error) {
	d, err := exportDType(t.DType)
	if err != nil {
		return nil, err
	}
	s := &stored{dtype: d, bytes: data}
	numbers := func(list []exportSize) ([]int, error) {
		out := make([]int, len(list))
		for i, n := range list {
			if n.Int == nil || *n.Int < 0 || *n.Int > types.MaxElements {
				return nil, errors.New("its extents are no numbers")
			}
			out[i] = int(*n.Int)
		}
		return out, nil
	}
	if s.shape, err = numbers(t.Sizes); err != nil {
		return nil, err
	}
	if s.strides, err = numbers(t.Strides); err != nil {
		return nil, err
	}
	if t.Offset != nil {
		at, err := numbers([]exportSize{*t.Offset})
		if err != nil {
			return nil, err
		}
		s.offset = at[0]
	}
	if len(s.strides) != len(s.shape) {
		return nil, errors.New("its strides are not those of its shape")
	}
	return s, s.check()
}

// savedWeights reads what torch.save wrote: one tensor, which gets the name, or a dictionary of them.
func savedWeights(data []byte, name string, weights map[string]*stored) error {
	if len(data) == 0 {
		return nil
	}
	a, err := openArchive(data)
	if err != nil {
		return err
	}
	text, err := a.read("data.pkl")
	if err != nil {
		return err
	}
	v, _, err := pickle.Read(text)
	if err != nil {
		return err
	}
	read := func(o *pickle.Object, name string) (err error) {
		weights[name], err = storedTensor(o, func(key string) ([]byte, error) { return a.read("data/" + key) })
		return err
	}
	var pairs *pickle.Dict
	switch x := v.(type) {
	case *pickle.Dict:
		pairs = x
	case *pickle.Object:
		if isTensor(x) {
			return read(x, name)
		}
		pairs = &x.Pairs
	default:
		return fmt.Errorf("%T instead of tensors", v)
	}
	for i, k := range pairs.Keys {
		key, ok := k.(string)
		o, isObject := pairs.Values[i].(*pickle.Object)
		if ok && isObject && isTensor(o) {
			if err := read(o, key); err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
		}
	}
	return nil
}
