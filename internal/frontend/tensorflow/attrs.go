package tensorflow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// attributes are those of a node (attr_value.proto), and the bodies that they name.
type attributes struct {
	node   *node
	bodies map[string]*frontend.Graph
}

// silent are attributes that say what operands and results say as well, or how TensorFlow runs a node.
var silent = map[string]bool{
	"T": true, "T1": true, "T2": true, "U": true, "N": true, "Tidx": true, "Tshape": true, "Tpaddings": true, "Tperm": true, "Tdim": true, "Tlen": true,
	"Index": true, "Tindices": true, "Tparams": true, "Taxis": true, "Tblock_shape": true, "Tcrops": true, "Tmultiples": true, "Tsize": true, "TI": true, "TL": true,
	"Tin": true, "Tout": true, "Tcond": true, "SrcT": true, "Tsplits": true, "Tseg": true, "Tnumsegments": true, "Tseq": true, "Tlabels": true,
	"Tout_type": true, "Tout_shape": true, "T_threshold": true, "Tsegmentids": true, "Tfilter": true, "Tinput": true, "Tbias": true, "Ta": true, "Tb": true, "index_type": true,
	"Tcomplex": true, "Treal": true, "Targmax": true, "Tlr": true, "Tv": true, "K": true, "Ts": true,
	"data_type": true, "key_dtype": true, "element_dtype": true, "output_shapes": true, "container": true, "shared_name": true, "validate_indices": true, "use_cudnn_on_gpu": true,
	"config": true, "config_proto": true, "executor_type": true, "parallel_iterations": true, "message": true, "summarize": true, "read_only_resource_inputs": true,
	"use_locking": true, "clear_after_read": true, "identical_element_shapes": true, "tensor_array_name": true, "dynamic_size": true, "allowed_devices": true, "debug_name": true,
	"validate_shape": true, "grad_a": true, "grad_b": true, "grad_x": true, "grad_y": true, "swap_memory": true, "max_iterations": true,
}

func (a attributes) Names() []string {
	var list []string
	for _, x := range a.node.attrs {
		if !silent[x.name] && !strings.HasPrefix(x.name, "_") {
			list = append(list, x.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.bodies)) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// value finds the field of the AttrValue that has one of the kind.
func (a attributes) value(name string, num int, kind string) (wire.Field, error) {
	var found wire.Field
	err := wire.Each(a.node.attr(name), func(x wire.Field) error {
		if x.Number == num {
			found = x
		}
		return nil
	})
	if err == nil && found.Number == 0 {
		err = fmt.Errorf("attribute %q is not %s", name, kind)
	}
	return found, err
}

// items calls f with the fields of a number in the ListValue of the attribute.
func (a attributes) items(name string, num int, f func(x wire.Field) error) error {
	list, err := a.value(name, 1, "a list")
	if err != nil {
		return err
	}
	return wire.Each(list.Data, func(x wire.Field) error {
		if x.Number == num {
			return f(x)
		}
		return nil
	})
}

func (a attributes) Int(name string) (int64, error) {
	x, err := a.value(name, 3, "an integer")
	return int64(x.Bits), err
}

func (a attributes) Ints(name string) (list []int64, err error) {
	list = []int64{}
	err = a.items(name, 3, func(x wire.Field) error {
		return x.Varints(func(v uint64) error {
			list = append(list, int64(v))
			return nil
		})
	})
	return list, err
}

func (a attributes) Float(name string) (float64, error) {
	x, err := a.value(name, 4, "a number")
	return float64(math.Float32frombits(uint32(x.Bits))), err
}

func (a attributes) Floats(name string) (list []float64, err error) {
	list = []float64{}
	err = a.items(name, 4, func(x wire.Field) error {
		return x.Fixed(4, func(bits uint64) error {
			list = append(list, float64(math.Float32frombits(uint32(bits))))
			return nil
		})
	})
	return list, err
}

func (a attributes) Bool(name string) (bool, error) {
	x, err := a.value(name, 5, "true or false")
	return x.Bits != 0, err
}

func (a attributes) Str(name string) (string, error) {
	x, err := a.value(name, 2, "a text")
	return string(x.Data), err
}

func (a attributes) Strs(name string) (list []string, err error) {
	err = a.items(name, 2, func(x wire.Field) error {
		list = append(list, string(x.Data))
		return nil
	})
	return list, err
}

func (a attributes) DType(name string) (types.DType, error) {
	x, err := a.value(name, 6, "a type")
	if err != nil {
		return types.Invalid, err
	}
	return dataType(x.Bits).dtype()
}

func (a attributes) Tensor(name string) (*tensor.Tensor, error) {
	return nil, fmt.Errorf("attribute %q is a tensor, which is not supported", name)
}

// Graph is the body that a function makes of the attribute.
func (a attributes) Graph(name string) (*frontend.Graph, error) {
	if g := a.bodies[name]; g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("attribute %q is no function of the file", name)
}

// function is the name of the one that an attribute is.
func (n *node) function(name string) string {
	x, err := attributes{node: n}.value(name, 10, "a function")
	if err != nil {
		return ""
	}
	return nameOf(x.Data)
}

// nameOf is field 1 of a message, a text.
func nameOf(msg []byte) (name string) {
	if err := wire.Read(msg, wire.Fields{1: wire.Text(&name)}); err != nil {
		return ""
	}
	return name
}

// A shape is a TensorShapeProto: nil extents where even the rank is unknown, -1 for an unknown extent.
type shape struct {
	known bool
	dims  []int64
}

const maxRank = 32

func readShape(msg []byte) (s shape, err error) {
	err = s.read(msg)
	return s, err
}

func (s *shape) read(msg []byte) error {
	unknown := false
	*s = shape{}
	err := wire.Read(msg, wire.Fields{
		2: wire.Messages(&s.dims, func(msg []byte) (d int64, err error) {
			if len(s.dims) >= maxRank {
				return 0, fmt.Errorf("a shape of more than %d axes", maxRank)
			}
			err = wire.Read(msg, wire.Fields{1: wire.Int(&d)})
			return d, err
		}),
		3: wire.Bool(&unknown),
	})
	s.known = !unknown
	return err
}

// shape is an attribute, unknown where it is absent.
func (n *node) shape(name string) (shape, error) {
	if n.attr(name) == nil {
		return shape{}, nil
	}
	x, err := attributes{node: n}.value(name, 7, "a shape")
	if err != nil {
		return shape{}, err
	}
	return readShape(x.Data)
}

// dataType is an attribute, 0 where it is absent.
func (n *node) dataType(name string) dataType {
	x, err := attributes{node: n}.value(name, 6, "a type")
	if err != nil {
		return 0
	}
	return dataType(x.Bits)
}
