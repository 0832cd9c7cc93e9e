package tflite

import (
	"encoding/binary"
	"errors"
	"math"
)

// flexMap reads a flexbuffer whose root is a map from names to numbers, which is how custom operators have their options. Other values are left out.
func flexMap(b []byte) (map[string]float64, error) {
	damaged := errors.New("the options are damaged")
	if len(b) < 3 {
		return nil, damaged
	}
	r := flexReader{b: b}
	width, kind := int(b[len(b)-1]), int(b[len(b)-2])>>2
	if kind != flexMapKind {
		return nil, errors.New("the options are no map")
	}
	at := len(b) - 2 - width
	values := r.back(at, width)
	width = 1 << (b[len(b)-2] & 3) // of the map's own elements
	keys, keyWidth, n := r.back(values-3*width, width), r.uint(values-2*width, width), r.uint(values-width, width)
	if r.bad || n > len(b) || keyWidth != 1 && keyWidth != 2 && keyWidth != 4 && keyWidth != 8 {
		return nil, damaged
	}
	out := map[string]float64{}
	for i := range n {
		name := r.text(r.back(keys+i*keyWidth, keyWidth))
		tag := r.uint(values+n*width+i, 1)
		switch at := values + i*width; tag >> 2 {
		case flexInt:
			out[name] = float64(r.int(at, width))
		case flexUint, flexBool:
			out[name] = float64(r.uint(at, width))
		case flexFloat:
			out[name] = r.float(at, width)
		}
	}
	if r.bad {
		return nil, damaged
	}
	return out, nil
}

const (
	flexInt     = 1
	flexUint    = 2
	flexFloat   = 3
	flexMapKind = 9
	flexBool    = 26
)

// A flexReader reads numbers of 1, 2, 4 or 8 bytes; bad says that one lay outside.
type flexReader struct {
	b   []byte
	bad bool
}

func (r *flexReader) uint(at, width int) int {
	if at < 0 || width < 1 || width > 8 || at > len(r.b)-width {
		r.bad = true
		return 0
	}
	var raw [8]byte
	copy(raw[:], r.b[at:at+width])
	return int(binary.LittleEndian.Uint64(raw[:]) & math.MaxInt64)
}

func (r *flexReader) int(at, width int) int {
	n := r.uint(at, width)
	if shift := 64 - 8*width; shift > 0 && !r.bad {
		return int(int64(n) << shift >> shift)
	}
	return n
}

func (r *flexReader) float(at, width int) float64 {
	bits := r.uint(at, width)
	switch {
	case width == 4:
		return float64(math.Float32frombits(uint32(bits)))
	case width == 8 && !r.bad:
		return math.Float64frombits(binary.LittleEndian.Uint64(r.b[at:]))
	}
	r.bad = true
	return 0
}

// back follows an offset, which counts towards the start.
func (r *flexReader) back(at, width int) int {
	off := r.uint(at, width)
	if off > at {
		r.bad = true
		return 0
	}
	return at - off
}

func (r *flexReader) text(at int) string {
	for end := max(at, 0); end < len(r.b); end++ {
		if r.b[end] == 0 {
			return string(r.b[at:end])
		}
	}
	r.bad = true
	return ""
}
