package tensorflow

import "lathe/internal/container/wire"

// sources are operators that feed a network from files, microphones and pipelines. Their results are inputs, of which each function gives type and shape.
var sources = map[string]func(l *level, v *vertex, k int) (dataType, shape, error){
	"Mfcc": coefficients, "AudioSpectrogram": spectrogram, "DecodeWav": samples,
	"DecodeJpeg": picture, "DecodePng": picture, "DecodeBmp": picture, "DecodeImage": picture, "DecodeGif": picture, "DecodeAndCropJpeg": picture,
	"DecodeRaw": decoded, "DecodePaddedRaw": decoded, "IteratorGetNext": listed, "IteratorGetNextSync": listed, "OneShotIterator": listed, "QueueDequeueV2": listed,
	"QueueDequeueManyV2": listed, "QueueDequeueUpToV2": listed, "ParseExample": listed, "ParseExampleV2": listed, "ParseSingleExample": listed, "FIFOQueueV2": listed,
}

const (
	typeFloat dataType = 1
	typeByte  dataType = 4
	typeBool  dataType = 10
)

// number is an integer attribute, or what holds where it is absent.
func (n *node) number(name string, absent int64) int64 {
	if v, err := (attributes{node: n}).Int(name); err == nil {
		return v
	}
	return absent
}

// at is the vertex that gives operand i, or nil.
func (l *level) at(v *vertex, i int) *vertex {
	if v == nil || i >= len(v.data) {
		return nil
	}
	return l.vertices[v.data[i].node]
}

// samples are [samples, channels] of DecodeWav, and their rate.
func samples(_ *level, v *vertex, k int) (dataType, shape, error) {
	if k == 1 {
		return 3, shape{known: true}, nil
	}
	return typeFloat, shape{true, []int64{v.number("desired_samples", -1), v.number("desired_channels", -1)}}, nil
}

// spectrogram is [channels, windows, bins]: windows of a number of samples, a stride from each other, whose transform has the next power of two.
func spectrogram(l *level, v *vertex, _ int) (dataType, shape, error) {
	size, stride := v.number("window_size", 0), v.number("stride", 0)
	s := shape{true, []int64{1, -1, -1}}
	if size < 1 || stride < 1 || size > 1<<20 {
		return typeFloat, s, nil
	}
	length := int64(1)
	for length < size {
		length *= 2
	}
	s.dims[2] = length/2 + 1
	if wav := l.at(v, 0); wav != nil && wav.op == "DecodeWav" {
		if n := wav.number("desired_samples", -1); n >= size {
			s.dims[1] = 1 + (n-size)/stride
		}
		if n := wav.number("desired_channels", -1); n > 0 {
			s.dims[0] = n
		}
	}
	return typeFloat, s, nil
}

// coefficients are [channels, windows, coefficients] of Mfcc.
func coefficients(l *level, v *vertex, _ int) (dataType, shape, error) {
	s := shape{true, []int64{1, -1, v.number("dct_coefficient_count", 13)}}
	if from := l.at(v, 0); from != nil && from.op == "AudioSpectrogram" {
		if _, of, err := spectrogram(l, from, 0); err == nil {
			copy(s.dims[:2], of.dims[:2])
		}
	}
	return typeFloat, s, nil
}

// picture is [height, width, channels].
func picture(_ *level, v *vertex, _ int) (dataType, shape, error) {
	typ, channels := v.dataType("dtype"), v.number("channels", 0)
	if typ == 0 {
		typ = typeByte
	}
	if channels == 0 {
		channels = -1
	}
	return typ, shape{true, []int64{-1, -1, channels}}, nil
}

// decoded is of an unknown shape.
func decoded(_ *level, v *vertex, _ int) (dataType, shape, error) {
	return v.dataType("out_type"), shape{}, nil
}

// listed takes type and shape from lists of the node.
func listed(_ *level, v *vertex, k int) (typ dataType, s shape, err error) {
	a := attributes{node: v.node}
	for _, name := range []string{"output_types", "component_types", "Tdense"} {
		i := 0
		_ = a.items(name, 6, func(x wire.Field) error { // another name may have them
			return x.Varints(func(bits uint64) error {
				if i == k {
					typ = dataType(bits)
				}
				i++
				return nil
			})
		})
	}
	for _, name := range []string{"output_shapes", "shapes", "dense_shapes"} {
		i := 0
		if v.attr(name) == nil {
			continue
		}
		err = a.items(name, 7, func(x wire.Field) error {
			if i++; i == k+1 {
				s, err = readShape(x.Data)
			}
			return err
		})
	}
	return typ, s, err
}
