package keras

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/container/hdf5"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A store finds the arrays of a model's layers, of which a layer has as many as its options ask for, in a known order.
type store interface {
	// layers gives each layer of a model its own store.
	layers(of []*layer) ([]store, error)
	// part is the store of what a layer wraps: a layer, a cell, a direction, a projection.
	part(name string) (store, error)
	// cells are the stores of a stack of cells, of which each has so many arrays.
	cells(of []*layer, counts []int) ([]store, error)
	// arrays are the layer's own.
	arrays() ([]*hdf5.Object, error)
}

// listed is the store of .h5 files: each layer has a group with its name, whose attribute weight_names lists the paths of all
// arrays in it, those of wrapped layers included.
type listed struct {
	group *hdf5.Object
	names []string
	top   *hdf5.Object // the group that the names are paths in; nil for the model itself
}

func (s *listed) layers(of []*layer) ([]store, error) {
	out := make([]store, len(of))
	for i, l := range of {
		out[i] = &listed{}
		if s.top != nil { // a model within a model: its arrays are in one list, by the names of their layers
			in := &listed{top: s.top}
			for _, name := range s.names {
				if slices.Contains(strings.Split(name, "/"), l.name) {
					in.names = append(in.names, name)
				}
			}
			out[i] = in
			continue
		}
		if s.group == nil { // of a model within the model that has no group itself
			continue
		}
		group, err := s.group.Find(l.name)
		if err != nil || group == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		names, _, err := group.Texts("weight_names")
		if err != nil {
			return nil, err
		}
		out[i] = &listed{names: names, top: group}
	}
	return out, nil
}

// part divides the list among directions, and is the list itself otherwise.
func (s *listed) part(name string) (store, error) {
	half := len(s.names) / 2
	switch name {
	case "forward_layer":
		return &listed{names: s.names[:half], top: s.top}, nil
	case "backward_layer":
		return &listed{names: s.names[half:], top: s.top}, nil
	}
	return s, nil
}

// cells takes the list apart.
func (s *listed) cells(of []*layer, counts []int) ([]store, error) {
	out, names := make([]store, len(of)), s.names
	for i, n := range counts {
		n = min(n, len(names))
		out[i], names = &listed{names: names[:n], top: s.top}, names[n:]
	}
	return out, nil
}

func (s *listed) arrays() ([]*hdf5.Object, error) {
	out := make([]*hdf5.Object, len(s.names))
	for i, name := range s.names {
		o, err := s.top.Find(name)
		if err == nil && o == nil {
			err = fmt.Errorf("weights %q are listed but not in the file", name)
		}
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	return out, nil
}

// counted is the store of Keras 3: a tree of groups by attribute names, in which layers of a model are named by their class
// and counted.
type counted struct{ group *hdf5.Object }

// containers are names of the group with a model's layers; the second is that of Keras 2.12 and 2.13.
var containers = []string{"layers", "_layer_checkpoint_dependencies"}

func (s *counted) layers(of []*layer) ([]store, error) {
	var group *hdf5.Object
	for _, name := range containers {
		if group != nil || s.group == nil {
			break
		}
		var err error
		if group, err = s.group.Find(name); err != nil {
			return nil, err
		}
	}
	return numbered(group, of)
}

func (s *counted) cells(of []*layer, _ []int) ([]store, error) {
	if s.group == nil {
		return numbered(nil, of)
	}
	group, err := s.group.Find("cells")
	if err != nil {
		return nil, err
	}
	return numbered(group, of)
}

// numbered are the members of a group by class and number; group may be nil.
func numbered(group *hdf5.Object, of []*layer) ([]store, error) {
	out, uses := make([]store, len(of)), map[string]int{}
	for i, l := range of {
		name := snake(l.class)
		n := uses[name]
		uses[name]++
		if n > 0 {
			name += "_" + strconv.Itoa(n)
		}
		own := &counted{}
		if group != nil {
			var err error
			if own.group, err = group.Find(name); err != nil {
				return nil, err
			}
		}
		out[i] = own
	}
	return out, nil
}

var (
	word  = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	small = regexp.MustCompile(`([a-z])([A-Z])`)
	other = regexp.MustCompile(`\W+`)
)

// snake is the name of a class as Keras writes it in weight files: conv2d, batch_normalization, re_lu.
func snake(class string) string {
	s := word.ReplaceAllString(other.ReplaceAllString(class, ""), "${1}_${2}")
	return strings.ToLower(small.ReplaceAllString(s, "${1}_${2}"))
}

func (s *counted) part(name string) (store, error) {
	if s.group == nil {
		return s, nil
	}
	o, err := s.group.Find(name)
	return &counted{o}, err
}

func (s *counted) arrays() ([]*hdf5.Object, error) {
	if s.group == nil {
		return nil, nil
	}
	vars, err := s.group.Find("vars")
	if err != nil || vars == nil {
		return nil, err
	}
	var out []*hdf5.Object
	for i := 0; ; i++ {
		o, err := vars.Find(strconv.Itoa(i))
		if err != nil || o == nil {
			return out, err
		}
		out = append(out, o)
	}
}

// param is an array as a constant of the model.
func param(o *hdf5.Object) (frontend.Param, error) {
	a, err := o.Array()
	if err == nil && a == nil {
		err = fmt.Errorf("weights %s are a group", o.Path)
	}
	if err != nil {
		return frontend.Param{}, err
	}
	d, err := dtypeOf(a.Type)
	if err != nil {
		return frontend.Param{}, fmt.Errorf("weights %s: %w", o.Path, err)
	}
	t := types.Of(d, a.Dims...)
	if err := t.Check(); err != nil {
		return frontend.Param{}, fmt.Errorf("weights %s: %w", o.Path, err)
	}
	return frontend.Param{Name: o.Path, Elements: int64(a.Len()), Bytes: int64(t.Bytes()), Value: func(*compose.Builder) (*graph.Value, error) {
		data, err := a.Bytes()
		if err != nil {
			return nil, err
		}
		v, err := tensor.Wrap(d, a.Dims, data)
		if err != nil {
			return nil, fmt.Errorf("weights %s: %w", o.Path, err)
		}
		return compose.Const(v), nil
	}}, nil
}

// dtypes are the types of arrays by kind and size.
var dtypes = map[hdf5.Kind]map[int]types.DType{
	hdf5.Float: {2: types.F16, 4: types.F32, 8: types.F64},
	hdf5.Int:   {1: types.I8, 2: types.I16, 4: types.I32, 8: types.I64},
	hdf5.Uint:  {1: types.U8, 2: types.U16, 4: types.U32, 8: types.U64},
	hdf5.Bool:  {1: types.Bool},
}

func dtypeOf(t hdf5.Type) (types.DType, error) {
	if d, ok := dtypes[t.Kind][t.Size]; ok {
		return d, nil
	}
	return types.Invalid, errors.New("text where numbers are expected")
}
