package picture

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"slices"

	"golang.org/x/image/draw"
)

// Input is the tensor to make: a model's input.
type Input struct {
	DType string // float32, float64, uint8 or int8
	Shape []int  // (1, C, H, W) or (1, H, W, C), or without the leading 1
	// Integers q stand for Scale (q - Zero); a Scale of 0 is not known.
	Scale float64
	Zero  int
	// Mean and Std are how the model's file says pixels from 0 to 255 become values, one number or one for each channel; nil where it does not.
	// They hold unless the settings are chosen.
	Mean, Std []float64
}

// settings are s, or what the input asks for where s is not chosen.
func (in Input) settings(s Settings) Settings {
	if s.Chosen || len(in.Std) == 0 || len(in.Std) != len(in.Mean) {
		return s
	}
	s.Scale, s.Chosen = 1, true
	for k := range s.Mean {
		s.Mean[k], s.Std[k] = in.Mean[min(k, len(in.Mean)-1)], in.Std[min(k, len(in.Std)-1)]
	}
	return s
}

// Result is a picture as a tensor, with what happened on the way.
type Result struct {
	Data                    []byte
	Layout                  Layout
	Color                   Color
	Original                Size
	Channels                int // of the file
	Resized, Final          Size
	FinalChannels           int
	Normalized              bool // false where an integer input took the pixels as they are
	Scale                   float64
	Mean, Std               [3]float64 // as they were applied, in the order R, G, B
	Low, High, MeanOfTensor float64
}

// axes finds height, width and channels in the shape.
func (in Input) axes(l Layout) (Layout, Size, int, error) {
	shape := in.Shape
	if len(shape) == 4 {
		if shape[0] != 1 {
			return "", Size{}, 0, fmt.Errorf("a picture fills a batch of 1, the input's is %d", shape[0])
		}
		shape = shape[1:]
	}
	if len(shape) != 3 {
		return "", Size{}, 0, fmt.Errorf("the input's shape %v is not that of a picture", in.Shape)
	}
	isChannels := func(n int) bool { return n == 1 || n == 3 }
	if l == Auto {
		switch {
		case shape[0] == 3, shape[0] == 1 && shape[2] != 3:
			l = NCHW
		case isChannels(shape[2]):
			l = NHWC
		}
	}
	switch {
	case l == NCHW && isChannels(shape[0]):
		return l, Size{shape[2], shape[1]}, shape[0], nil
	case l == NHWC && isChannels(shape[2]):
		return l, Size{shape[1], shape[0]}, shape[2], nil
	}
	return "", Size{}, 0, fmt.Errorf("the input's shape %v has no axis of 1 or 3 channels for layout %s", in.Shape, l)
}

// maxResized bounds the pixels after resizing, of 8 bytes each.
const maxResized = 1 << 26

// Prepare makes the tensor. The crop must have the input's height and width.
func (s Settings) Prepare(img image.Image, in Input) (*Result, error) {
	s = in.settings(s)
	layout, want, c, err := in.axes(s.Layout)
	if err != nil {
		return nil, err
	}
	crop := s.Crop
	if crop == (Size{}) {
		crop = want
	}
	if crop != want {
		return nil, fmt.Errorf("a crop of %dx%d does not fit the input, which is %dx%d", crop.W, crop.H, want.W, want.H)
	}
	color := s.Color
	switch {
	case c == 1:
		color = Gray
	case color == Gray:
		return nil, fmt.Errorf("colour gray, and the input has 3 channels")
	}
	r := &Result{Layout: layout, Color: color, Channels: channels(img), Final: crop, FinalChannels: c,
		Original: Size{img.Bounds().Dx(), img.Bounds().Dy()}, Scale: s.Scale, Mean: s.Mean, Std: s.Std}
	r.Resized = s.Resize.size(r.Original, crop)
	if r.Resized.W < crop.W || r.Resized.H < crop.H {
		return nil, fmt.Errorf("%dx%d after resizing is smaller than the crop of %dx%d", r.Resized.W, r.Resized.H, crop.W, crop.H)
	}
	if int64(r.Resized.W)*int64(r.Resized.H) > maxResized {
		return nil, fmt.Errorf("%dx%d would become %dx%d, which is too large", r.Original.W, r.Original.H, r.Resized.W, r.Resized.H)
	}
	values := s.values(s.resized(img, r.Resized), r)
	quantize := s.Chosen && in.Scale != 0
	r.Normalized = s.Normalize || quantize || in.DType == "float32" || in.DType == "float64"
	if r.Normalized {
		s.normalize(values, r)
	}
	if quantize {
		for i := range values {
			values[i] = values[i]/in.Scale + float64(in.Zero)
		}
	}
	return r, r.store(values, in.DType)
}

// size is the size after resizing. Longer sides are cut to whole pixels, as torchvision does.
func (z Resize) size(from, crop Size) Size {
	keep := func(shorter int) Size {
		if from.W <= from.H {
			return Size{shorter, int(int64(shorter) * int64(from.H) / int64(from.W))}
		}
		return Size{int(int64(shorter) * int64(from.W) / int64(from.H)), shorter}
	}
	switch {
	case z.None:
		return from
	case z.Exact != Size{}:
		return z.Exact
	case z.Shorter > 0:
		return keep(z.Shorter)
	}
	box := Size{int(math.Round(float64(crop.W) * z.Margin)), int(math.Round(float64(crop.H) * z.Margin))}
	if z.Stretch {
		return box
	}
	if box.W == box.H {
		return keep(box.W)
	}
	// Cover the box: the side that needs the larger factor decides.
	if int64(box.W)*int64(from.H) >= int64(box.H)*int64(from.W) {
		return Size{box.W, max(box.H, int(int64(box.W)*int64(from.H)/int64(from.W)))}
	}
	return Size{max(box.W, int(int64(box.H)*int64(from.W)/int64(from.H))), box.H}
}

// resized returns img without alpha at the size, with 16 bits a channel, so that resizing rounds no value to 8.
func (s Settings) resized(img image.Image, size Size) *image.RGBA64 {
	b := img.Bounds()
	opaque := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	if a, ok := img.(*image.NRGBA); ok {
		for y := range b.Dy() {
			row := a.Pix[y*a.Stride : y*a.Stride+4*b.Dx()]
			copy(opaque.Pix[y*opaque.Stride:], row)
		}
	} else {
		draw.Draw(opaque, opaque.Bounds(), img, b.Min, draw.Src)
	}
	for i := 3; i < len(opaque.Pix); i += 4 {
		opaque.Pix[i] = 255
	}
	out := image.NewRGBA64(image.Rect(0, 0, size.W, size.H))
	filters := map[Filter]draw.Scaler{Bilinear: draw.BiLinear, Point: draw.ApproxBiLinear, Nearest: draw.NearestNeighbor, Bicubic: draw.CatmullRom}
	if (size == Size{b.Dx(), b.Dy()}) {
		draw.Draw(out, out.Bounds(), opaque, image.Point{}, draw.Src)
	} else {
		filters[s.Filter].Scale(out, out.Bounds(), opaque, opaque.Bounds(), draw.Src, nil)
	}
	return out
}

// luma are the weights of ITU-R BT.601.
var luma = [3]float64{0.299, 0.587, 0.114}

// values returns the pixels of the centre crop from 0 to 255 in the result's layout and order of channels. The crop's
// corner is rounded to even, as torchvision does.
func (s Settings) values(img *image.RGBA64, r *Result) []float64 {
	left := int(math.RoundToEven(float64(r.Resized.W-r.Final.W) / 2))
	top := int(math.RoundToEven(float64(r.Resized.H-r.Final.H) / 2))
	plane := r.Final.W * r.Final.H
	v := make([]float64, plane*r.FinalChannels)
	for y := range r.Final.H {
		for x := range r.Final.W {
			p := img.RGBA64At(left+x, top+y)
			rgb := [3]float64{float64(p.R) / 257, float64(p.G) / 257, float64(p.B) / 257}
			switch r.Color {
			case Gray:
				rgb[0] = luma[0]*rgb[0] + luma[1]*rgb[1] + luma[2]*rgb[2]
			case BGR:
				slices.Reverse(rgb[:])
			}
			for c := range r.FinalChannels {
				v[r.index(y*r.Final.W+x, c)] = rgb[c]
			}
		}
	}
	return v
}

// index is the place of a channel of a pixel.
func (r *Result) index(pixel, c int) int {
	if r.Layout == NHWC {
		return pixel*r.FinalChannels + c
	}
	return c*r.Final.W*r.Final.H + pixel
}

// normalize applies scale, mean and deviation; a gray input takes those of the channels by luma.
func (s Settings) normalize(v []float64, r *Result) {
	mean, std := s.Mean, s.Std
	switch r.Color {
	case BGR:
		slices.Reverse(mean[:])
		slices.Reverse(std[:])
	case Gray:
		mean[0] = luma[0]*mean[0] + luma[1]*mean[1] + luma[2]*mean[2]
		std[0] = luma[0]*std[0] + luma[1]*std[1] + luma[2]*std[2]
	}
	for pixel := range r.Final.W * r.Final.H {
		for c := range r.FinalChannels {
			i := r.index(pixel, c)
			v[i] = (v[i]*s.Scale - mean[c]) / std[c]
		}
	}
}

// store converts v to the element type and measures it.
func (r *Result) store(v []float64, dtype string) error {
	integer := func(low, high, shift float64) {
		for i, f := range v {
			if !r.Normalized {
				f -= shift
			}
			v[i] = min(max(math.RoundToEven(f), low), high)
			r.Data = append(r.Data, byte(int(v[i])))
		}
	}
	switch dtype {
	case "float32":
		for i, f := range v {
			v[i] = float64(float32(f))
			r.Data = binary.NativeEndian.AppendUint32(r.Data, math.Float32bits(float32(f)))
		}
	case "float64":
		for _, f := range v {
			r.Data = binary.NativeEndian.AppendUint64(r.Data, math.Float64bits(f))
		}
	case "uint8":
		integer(0, 255, 0)
	case "int8":
		integer(-128, 127, 128)
	default:
		return fmt.Errorf("pictures cannot fill inputs of type %s", dtype)
	}
	r.Low, r.High = slices.Min(v), slices.Max(v)
	for _, f := range v {
		r.MeanOfTensor += f / float64(len(v))
	}
	return nil
}
