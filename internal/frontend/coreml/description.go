package coreml

import (
	"fmt"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/types"
)

// A description is what a model says of its inputs and outputs (Model.proto, FeatureTypes.proto).
type description struct {
	inputs, outputs []feature
	probabilities   string // the name of the dictionary of a classifier, where it has one
}

type feature struct {
	name   string
	kind   int   // number of the field that says its type
	shape  []int // of an array, or channels, height and width of a picture
	dtype  types.DType
	colors int // order of the channels of a picture
}

// Types of features, and orders of colours.
const (
	integer, double, text, image, array, dictionary, sequence, state = 1, 2, 3, 4, 5, 6, 7, 8
	rgb, bgr                                                         = 20, 30
)

func (d *description) read(msg []byte) error {
	return wire.Read(msg, wire.Fields{1: wire.Messages(&d.inputs, featureOf), 10: wire.Messages(&d.outputs, featureOf), 12: wire.Text(&d.probabilities)})
}

// featureOf reads a FeatureDescription.
func featureOf(msg []byte) (x feature, err error) {
	x.dtype = types.F32
	err = wire.Read(msg, wire.Fields{1: wire.Text(&x.name), 3: wire.With(x.typed)})
	if err != nil {
		err = fmt.Errorf("feature %q: %w", x.name, err)
	}
	return x, err
}

// typed reads a FeatureType, of which one field says which it is.
func (x *feature) typed(msg []byte) error {
	is := func(kind int, read func(msg []byte) error) wire.Reader {
		return func(f wire.Field) error {
			x.kind = kind
			return read(f.Data)
		}
	}
	number := func([]byte) error { x.shape = []int{1}; return nil }
	other := func([]byte) error { return nil }
	fields := wire.Fields{integer: is(integer, number), double: is(double, number), image: is(image, x.picture), array: is(array, x.array)}
	for _, kind := range []int{text, dictionary, sequence, state} {
		fields[kind] = is(kind, other)
	}
	return wire.Read(msg, fields)
}

func (x *feature) picture(msg []byte) error {
	var width, height uint64
	err := wire.Read(msg, wire.Fields{1: wire.Int(&width), 2: wire.Int(&height), 3: wire.Int(&x.colors)})
	x.shape = []int{3, int(min(height, types.MaxElements)), int(min(width, types.MaxElements))}
	if x.colors != 0 && x.colors != rgb && x.colors != bgr {
		x.shape[0] = 1
	}
	return err
}

// array has its shape or, without, the first or the least of those that are allowed.
func (x *feature) array(msg []byte) error {
	var own, least []int64
	var allowed [][]int64
	kind := 0
	err := wire.Read(msg, wire.Fields{
		1: wire.Ints(&own), 2: wire.Int(&kind),
		21: wire.Message(wire.Fields{1: wire.Messages(&allowed, func(msg []byte) (dims []int64, err error) {
			err = wire.Read(msg, wire.Fields{1: wire.Ints(&dims)})
			return dims, err
		})}),
		31: wire.Message(wire.Fields{1: wire.Messages(&least, func(msg []byte) (low int64, err error) {
			err = wire.Read(msg, wire.Fields{1: wire.Int(&low)})
			return max(1, low), err
		})}),
	})
	if err != nil {
		return err
	}
	if kind == 0x20000|32 {
		x.dtype = types.I32
	}
	switch {
	case own != nil:
	case allowed != nil:
		own = allowed[0]
	default:
		own = least
	}
	for _, d := range own {
		if d < 0 || d > types.MaxElements {
			return fmt.Errorf("an extent of %d", d)
		}
		x.shape = append(x.shape, int(d))
	}
	return nil
}

func numbers(shape []int) []any {
	list := []any{}
	for _, d := range shape {
		list = append(list, float64(d))
	}
	return list
}

// info is an input as a caller gives it: a picture as [batch, channels, height, width], an array as it is described.
func (x feature) info(exact bool) frontend.Info {
	info := frontend.Info{Name: x.name, DType: x.dtype, Spelt: x.dtype.String(), Ranked: x.shape != nil}
	switch x.kind {
	case text, dictionary, sequence, state:
		info.Kind = map[int]string{text: "a string", dictionary: "a dictionary", sequence: "a sequence", state: "a state"}[x.kind]
	case image:
		info.Dims = append(info.Dims, frontend.Dim{Value: -1, Param: "batch"})
	}
	for _, d := range x.shape {
		dim := frontend.Dim{Value: int64(d)}
		if d == 0 {
			dim.Value = -1
		}
		info.Dims = append(info.Dims, dim)
	}
	return info
}
