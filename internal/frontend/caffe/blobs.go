package caffe

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/container/hdf5"
	"lathe/internal/container/wire"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// blobs are the weights of a network.
type blobs struct {
	network string // its name, where the file has it
	of      map[string][]*tensor.Tensor
}

// another is what is said of weights that do not fit.
func (b *blobs) another() string {
	if b.network == "" {
		return "they are of another network"
	}
	return fmt.Sprintf("they are of another network or version, %q", b.network)
}

// blobsOf reads the weights of each layer by its name: of a .caffemodel or, in HDF5, a .caffemodel.h5.
func blobsOf(data []byte) (*blobs, error) {
	if _, ok := hdf5.Find(data); ok {
		return blobsOfHDF5(data)
	}
	b := &blobs{of: map[string][]*tensor.Tensor{}}
	err := wire.Each(data, func(layer wire.Field) error {
		nameField, blobField := 1, 7 // of LayerParameter
		switch layer.Number {
		case 1:
			b.network = string(layer.Data)
			return nil
		case 100:
		case 2: // V1LayerParameter
			nameField, blobField = 4, 6
		default:
			return nil
		}
		name, list := "", []*tensor.Tensor(nil)
		err := wire.Read(layer.Data, wire.Fields{nameField: wire.Text(&name), blobField: wire.Messages(&list, func(msg []byte) (*tensor.Tensor, error) {
			t, err := blob(msg)
			if err != nil {
				err = fmt.Errorf("blob %d: %w", len(list), err)
			}
			return t, err
		})})
		if err != nil {
			return fmt.Errorf("layer %q: %w", name, err)
		}
		if len(list) > 0 {
			b.of[name] = list
		}
		return nil
	})
	return b, err
}

// blob reads a BlobProto: four extents of the old form or a list, and floats, which are a view of the file where they are packed in one piece.
func blob(msg []byte) (*tensor.Tensor, error) {
	var old [4]int
	var shape []int
	var packed, singles []byte
	isOld, double := false, false
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1, 2, 3, 4:
			isOld, old[f.Number-1] = true, int(int32(f.Bits))
		case 5, 8:
			if f.Number == 8 {
				double = true
			}
			switch {
			case f.Data == nil && double:
				singles = protowire.AppendFixed64(singles, f.Bits)
			case f.Data == nil:
				singles = protowire.AppendFixed32(singles, uint32(f.Bits))
			case packed != nil:
				return errors.New("values in several pieces are not supported")
			default:
				packed = f.Data
			}
		case 7:
			return wire.Each(f.Data, func(f wire.Field) error {
				if f.Number != 1 {
					return nil
				}
				return f.Varints(func(v uint64) error {
					shape = append(shape, int(v))
					return nil
				})
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if isOld && shape == nil {
		shape = old[:]
	}
	if packed == nil {
		packed = singles
	}
	t := types.Tensor{DType: types.F32, Shape: shape}
	if double {
		t.DType = types.F64
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	x, err := tensor.Wrap(t.DType, shape, packed)
	if err != nil || !double {
		return x, err
	}
	return narrow(x), nil
}

// narrow is x in float32, in which Caffe's networks compute here.
func narrow(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(types.F32, x.Shape...)
	for i := range x.Len() {
		if v := x.Float(i); !math.IsNaN(v) {
			y.SetFloat(i, v)
		}
	}
	return y
}

// blobsOfHDF5 reads /data/LAYER/0, 1 and so on.
func blobsOfHDF5(data []byte) (*blobs, error) {
	f, err := hdf5.Open(data)
	if err != nil {
		return nil, err
	}
	root, err := f.Root()
	if err != nil {
		return nil, err
	}
	layers, err := root.Find("data")
	if err != nil || layers == nil {
		return nil, errors.Join(errors.New("the HDF5 file has no group data: it holds no weights of Caffe"), err)
	}
	names, err := layers.Names()
	if err != nil {
		return nil, err
	}
	b := &blobs{of: map[string][]*tensor.Tensor{}}
	for _, name := range names {
		for i := 0; ; i++ {
			o, err := layers.Find(fmt.Sprintf("%s/%d", name, i))
			if err != nil {
				return nil, err
			}
			if o == nil {
				break
			}
			a, err := o.Array()
			if err != nil {
				return nil, err
			}
			if a == nil || a.Type.Kind != hdf5.Float || a.Type.Size != 4 && a.Type.Size != 8 {
				return nil, fmt.Errorf("blob %d of layer %q is no array of floats", i, name)
			}
			data, err := a.Bytes()
			if err != nil {
				return nil, err
			}
			d := types.F32
			if a.Type.Size == 8 {
				d = types.F64
			}
			x, err := tensor.Wrap(d, a.Dims, data)
			if err != nil {
				return nil, err
			}
			if d == types.F64 {
				x = narrow(x)
			}
			b.of[name] = append(b.of[name], x)
		}
	}
	return b, nil
}
