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
	integer, double, text, image, array, dictionary = 1, 2, 3, 4, 5, 6
	rgb, bgr                                        = 20, 30
)

func (d *description) read(msg []byte) error {
	return wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1, 10:
			x, err := featureOf(f.Data)
			if err != nil {
				return fmt.Errorf("feature %q: %w", x.name, err)
			}
			if f.Number == 1 {
				d.inputs = append(d.inputs, x)
			} else {
				d.outputs = append(d.outputs, x)
			}
		case 12:
			d.probabilities = f.Text()
		}
		return nil
	})
}

func featureOf(msg []byte) (x feature, err error) {
	x.dtype = types.F32
	err = wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1:
			x.name = f.Text()
		case 3:
			return wire.Each(f.Data, func(f wire.Field) error {
				if f.Number >= integer && f.Number <= 8 {
					x.kind = f.Number
				}
				switch f.Number {
				case integer, double:
					x.shape = []int{1}
				case image:
					return x.picture(f.Data)
				case array:
					return x.array(f.Data)
				}
				return nil
			})
		}
		return nil
	})
	return x, err
}

func (x *feature) picture(msg []byte) error {
	x.shape = []int{3, 0, 0}
	return wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1, 2:
			x.shape[3-f.Number] = int(min(f.Bits, types.MaxElements))
		case 3:
			if x.colors = int(f.Bits); x.colors != rgb && x.colors != bgr {
				x.shape[0] = 1
			}
		}
		return nil
	})
}

// array has its shape or, without, the first or the least of those that are allowed.
func (x *feature) array(msg []byte) error {
	var first, least []int
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1:
			return appendDims(&x.shape, f)
		case 2:
			if f.Int() == 0x20000|32 {
				x.dtype = types.I32
			}
		case 21, 31:
			return wire.Each(f.Data, func(part wire.Field) error {
				if f.Number == 31 { // a range of sizes
					low := 0
					err := wire.Each(part.Data, func(s wire.Field) error {
						if s.Number == 1 {
							low = int(min(s.Bits, types.MaxElements))
						}
						return nil
					})
					least = append(least, max(1, low))
					return err
				}
				if first != nil {
					return nil
				}
				first = []int{}
				return wire.Each(part.Data, func(s wire.Field) error { return appendDims(&first, s) })
			})
		}
		return nil
	})
	if x.shape == nil {
		x.shape = first
	}
	if x.shape == nil {
		x.shape = least
	}
	return err
}

func appendDims(to *[]int, f wire.Field) error {
	v, err := f.Ints()
	for _, d := range v {
		if d < 0 || d > types.MaxElements {
			return fmt.Errorf("an extent of %d", d)
		}
		*to = append(*to, int(d))
	}
	return err
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
	case text, dictionary, 7, 8:
		info.Kind = map[int]string{text: "a string", dictionary: "a dictionary", 7: "a sequence", 8: "a state"}[x.kind]
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
