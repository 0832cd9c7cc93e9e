package caffe

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/container/hdf5"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// errWire is of bytes that are no protobuf message.
var errWire = errors.New("the .caffemodel is damaged, cut short, or none")

// each calls f with the fields of a message: the bytes of those that have a length, the bits of others.
func each(msg []byte, f func(num protowire.Number, data []byte, bits uint64) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errWire
		}
		msg = msg[n:]
		var data []byte
		var bits uint64
		switch typ {
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(msg)
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(msg)
			bits = uint64(v)
		case protowire.Fixed64Type:
			bits, n = protowire.ConsumeFixed64(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return errWire
		}
		if err := f(num, data, bits); err != nil {
			return err
		}
		msg = msg[n:]
	}
	return nil
}

// blobsOf reads the weights of each layer by its name: of a .caffemodel or, in HDF5, a .caffemodel.h5.
func blobsOf(data []byte) (map[string][]*tensor.Tensor, error) {
	if _, ok := hdf5.Find(data); ok {
		return blobsOfHDF5(data)
	}
	blobs := map[string][]*tensor.Tensor{}
	err := each(data, func(num protowire.Number, layer []byte, _ uint64) error {
		nameField, blobField := protowire.Number(1), protowire.Number(7) // of LayerParameter
		switch num {
		case 100:
		case 2: // V1LayerParameter
			nameField, blobField = 4, 6
		default:
			return nil
		}
		name, list := "", []*tensor.Tensor(nil)
		err := each(layer, func(num protowire.Number, data []byte, _ uint64) error {
			switch num {
			case nameField:
				name = string(data)
			case blobField:
				t, err := blob(data)
				if err != nil {
					return fmt.Errorf("blob %d: %w", len(list), err)
				}
				list = append(list, t)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("layer %q: %w", name, err)
		}
		if len(list) > 0 {
			blobs[name] = list
		}
		return nil
	})
	return blobs, err
}

// blob reads a BlobProto: four extents of the old form or a list, and floats, which are a view of the file where they are packed in one piece.
func blob(msg []byte) (*tensor.Tensor, error) {
	var old [4]int
	var shape []int
	var packed, singles []byte
	isOld, double := false, false
	err := each(msg, func(num protowire.Number, data []byte, bits uint64) error {
		switch num {
		case 1, 2, 3, 4:
			isOld, old[num-1] = true, int(int32(bits))
		case 5, 8:
			if num == 8 {
				double = true
			}
			switch {
			case data == nil && double:
				singles = protowire.AppendFixed64(singles, bits)
			case data == nil:
				singles = protowire.AppendFixed32(singles, uint32(bits))
			case packed != nil:
				return errors.New("values in several pieces are not supported")
			default:
				packed = data
			}
		case 7:
			return each(data, func(num protowire.Number, data []byte, bits uint64) error {
				if num != 1 {
					return nil
				}
				if data == nil {
					shape = append(shape, int(bits))
				}
				for len(data) > 0 {
					v, n := protowire.ConsumeVarint(data)
					if n < 0 {
						return errWire
					}
					shape, data = append(shape, int(v)), data[n:]
				}
				return nil
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
func blobsOfHDF5(data []byte) (map[string][]*tensor.Tensor, error) {
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
	blobs := map[string][]*tensor.Tensor{}
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
			blobs[name] = append(blobs[name], x)
		}
	}
	return blobs, nil
}
