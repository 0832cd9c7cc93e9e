package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/frontend/onnx"
	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// fixes is the flag --fix, which may be repeated: inputs that become constants.
type fixes struct {
	values map[string]runtime.Tensor
	files  []string // that values came from
	typed  []string // the flag's values
}

func (f *fixes) String() string { return "" }
func (f *fixes) Type() string   { return "INPUT=VALUE" }

func (f *fixes) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return errors.New(`must be of the form "input=5", "input=[1,2,3]" or "input=FILE" with FILE ending in .npy, .npz or .pb`)
	}
	if _, twice := f.values[name]; twice {
		return fmt.Errorf("input %q is fixed twice", name)
	}
	var t runtime.Tensor
	var err error
	switch ext := strings.ToLower(filepath.Ext(value)); {
	case ext == ".npy" || ext == ".npz" || ext == ".pb":
		f.files = append(f.files, value)
		t, err = readValue(name, value)
	default:
		t, err = parseValue(value)
	}
	if err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	if f.values == nil {
		f.values = map[string]runtime.Tensor{}
	}
	f.values[name] = t
	f.typed = append(f.typed, text)
	return nil
}

// readValue reads the value of an input from a file: a numpy array, the array of the input's name in an archive, or an ONNX
// TensorProto.
func readValue(name, path string) (runtime.Tensor, error) {
	if strings.ToLower(filepath.Ext(path)) == ".pb" {
		data, err := os.ReadFile(path)
		if err != nil {
			return runtime.Tensor{}, err
		}
		t, err := onnx.ReadTensor(data)
		if err != nil {
			return runtime.Tensor{}, fmt.Errorf("%s: %w", path, err)
		}
		return runtime.Tensor{DType: t.DType.String(), Shape: t.Dims, Data: t.Data}, nil
	}
	arrays, err := npz.ReadFile(path)
	if err != nil {
		return runtime.Tensor{}, err
	}
	at := slices.IndexFunc(arrays, func(a npz.Array) bool { return a.Name == name })
	if at < 0 && len(arrays) == 1 {
		at = 0
	}
	if at < 0 {
		return runtime.Tensor{}, fmt.Errorf("%s holds %s, none of them %q", path, spelling.Count(len(arrays), "array"), name)
	}
	return runtime.Tensor{DType: arrays[at].DType, Shape: arrays[at].Shape, Data: arrays[at].Data}, nil
}

// parseValue reads a number, or lists of numbers within lists. Whole numbers, true and false make int64, others float64:
// the model's input decides what they become.
func parseValue(text string) (runtime.Tensor, error) {
	p := &valueParser{rest: text, whole: true}
	shape, err := p.value(0)
	if err == nil && p.rest != "" {
		err = fmt.Errorf("%q follows the value", p.rest)
	}
	if err != nil {
		return runtime.Tensor{}, err
	}
	t := runtime.Tensor{DType: "float64", Shape: shape}
	if p.whole {
		t.DType = "int64"
	}
	for i, f := range p.floats {
		bits := math.Float64bits(f)
		if p.whole {
			bits = uint64(p.ints[i])
		}
		t.Data = binary.LittleEndian.AppendUint64(t.Data, bits)
	}
	return t, nil
}

type valueParser struct {
	rest   string
	whole  bool // all numbers so far are
	ints   []int64
	floats []float64
}

const maxRank = 16

// value reads a number or a list and returns its shape.
func (p *valueParser) value(depth int) ([]int, error) {
	rest, list := strings.CutPrefix(p.rest, "[")
	if !list {
		return []int{}, p.number()
	}
	if depth == maxRank {
		return nil, fmt.Errorf("lists are nested more than %d deep", maxRank)
	}
	p.rest = strings.TrimLeft(rest, blanks)
	n, inner := 0, []int{}
	for !p.take("]") {
		if n > 0 && !p.take(",") {
			return nil, errors.New("a list must be of the form [1,2,3]")
		}
		shape, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if n > 0 && !slices.Equal(shape, inner) {
			return nil, errors.New("the lists within a list differ in length")
		}
		n, inner = n+1, shape
	}
	return append([]int{n}, inner...), nil
}

func (p *valueParser) take(sign string) bool {
	rest, ok := strings.CutPrefix(p.rest, sign)
	if ok {
		p.rest = strings.TrimLeft(rest, blanks)
	}
	return ok
}

func (p *valueParser) number() error {
	end := strings.IndexAny(p.rest, "[],"+blanks)
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = strings.TrimLeft(p.rest[end:], blanks)
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		p.ints, p.floats = append(p.ints, i), append(p.floats, float64(i))
		return nil
	}
	switch strings.ToLower(word) {
	case "true":
		p.ints, p.floats = append(p.ints, 1), append(p.floats, 1)
		return nil
	case "false":
		p.ints, p.floats = append(p.ints, 0), append(p.floats, 0)
		return nil
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", word)
	}
	p.whole = false
	p.ints, p.floats = append(p.ints, 0), append(p.floats, f)
	return nil
}
