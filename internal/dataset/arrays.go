package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// openArrays takes numpy's arrays, whose first axis is that of the samples. One that is called as labels are holds classes, by
// number or as a row of scores each; the others are inputs by name.
func openArrays(path string, dir bool, o Options) (*Set, bool, error) {
	if ext := strings.ToLower(filepath.Ext(path)); dir || ext != ".npz" && ext != ".npy" {
		return nil, false, nil
	}
	arrays, err := npz.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	s := &Set{}
	var inputs []npz.Array
	var truth *labels
	for _, a := range arrays {
		if !slices.Contains(labelColumns, strings.ToLower(a.Name)) {
			inputs = append(inputs, a)
			continue
		}
		classes, err := classesOf(a)
		if err != nil {
			return nil, false, err
		}
		truth = &labels{}
		for _, c := range classes {
			truth.texts = append(truth.texts, fmt.Sprint(c))
		}
	}
	if o.Labels != "" {
		if truth, err = readLabels(o.Labels); err != nil {
			return nil, false, err
		}
	}
	n, err := rows(inputs)
	if err != nil {
		return nil, false, err
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s[%d]", filepath.Base(path), i)
	}
	s.read = func(x Sample) (Value, error) { return row(inputs, x.row), nil }
	sample := func(i int) Sample { return Sample{Name: names[i], Class: Unlabelled, file: path, row: i} }
	if truth != nil {
		return s, true, s.label(names, truth, o, sample)
	}
	for i := range n {
		s.Samples = append(s.Samples, sample(i))
	}
	return s, true, nil
}

// rows is the number of samples that all arrays have.
func rows(inputs []npz.Array) (int, error) {
	if len(inputs) == 0 {
		return 0, errors.New("there is no array of inputs")
	}
	for _, a := range inputs {
		if len(a.Shape) == 0 || a.Shape[0] != inputs[0].Shape[0] {
			return 0, fmt.Errorf("array %q is %v, and its first axis is to be that of the samples", a.Name, a.Shape)
		}
	}
	return inputs[0].Shape[0], nil
}

// row is sample i of the arrays. Bytes that are shaped as pictures are one.
func row(inputs []npz.Array, i int) Value {
	var v Value
	for _, a := range inputs {
		size := len(a.Data) / a.Shape[0]
		v.Arrays = append(v.Arrays, npz.Array{Name: a.Name, DType: a.DType, Shape: slices.Clone(a.Shape[1:]), Data: a.Data[i*size : (i+1)*size]})
	}
	if len(v.Arrays) == 1 {
		v.Picture = asPicture(v.Arrays[0])
	}
	return v
}

// asPicture is a picture for bytes [H,W], [H,W,1] or [H,W,3], else nil.
func asPicture(a npz.Array) image.Image {
	if a.DType != "uint8" || len(a.Shape) != 2 && (len(a.Shape) != 3 || a.Shape[2] != 1 && a.Shape[2] != 3) || len(a.Data) == 0 {
		return nil
	}
	h, w := a.Shape[0], a.Shape[1]
	channels := len(a.Data) / (h * w)
	if channels == 1 {
		return &image.Gray{Pix: a.Data, Stride: w, Rect: image.Rect(0, 0, w, h)}
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		img.SetNRGBA(i%w, i/w, color.NRGBA{a.Data[3*i], a.Data[3*i+1], a.Data[3*i+2], 255})
	}
	return img
}

// classesOf reads an array of class numbers, [n] or [n,1], or of rows of scores, whose greatest is the class.
func classesOf(a npz.Array) ([]int, error) {
	d, err := types.ParseDType(a.DType)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) == 0 || len(a.Shape) > 2 {
		return nil, fmt.Errorf("labels %q are %v: a number or a row for each sample is wanted", a.Name, a.Shape)
	}
	t := tensor.Over(d, a.Shape, a.Data)
	width := 1
	if len(a.Shape) == 2 {
		width = a.Shape[1]
	}
	if width == 0 && a.Shape[0] > 0 {
		return nil, fmt.Errorf("labels %q are %v: rows are empty", a.Name, a.Shape)
	}
	classes := make([]int, a.Shape[0])
	for i := range classes {
		if width == 1 {
			f := t.Float(i)
			if f != math.Trunc(f) || math.Abs(f) > maxClasses {
				return nil, fmt.Errorf("labels %q: %v is no class", a.Name, f)
			}
			classes[i] = int(f)
			continue
		}
		for j := range width {
			if t.Float(i*width+j) > t.Float(i*width+classes[i]) {
				classes[i] = j
			}
		}
	}
	return classes, nil
}

// raw is the type of bytes whose elements are the input's.
const raw = "raw"

// elements reads raw bytes as an array of the input's type where their number fits, else as bytes of a quantised network.
func elements(a npz.Array, in Input, size int) (npz.Array, error) {
	n := 1
	for _, d := range in.Shape {
		n *= d
	}
	a.Shape = in.Shape
	switch {
	case len(a.Data) == n*size:
		a.DType = in.DType
		if size > 1 && binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
			return a, errors.New("raw samples are little endian, and this machine is not")
		}
	case len(a.Data) == n:
		a.DType = "int8"
		if in.Raw.Unsigned {
			a.DType = "uint8"
		}
	default:
		return a, fmt.Errorf("%s are no %s of %s", spelling.Count(len(a.Data), "byte"), spelling.Count(n, "element"), in.DType)
	}
	return a, nil
}
