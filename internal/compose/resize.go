package compose

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// A ResizeSpec says to which extents some axes are resampled: by Sizes or, without, by Scales. KeepAspect "not_larger" or
// "not_smaller" makes Sizes bounds within which all axes have one scale; any other value takes them as they are. Attrs
// holds what does not depend on shapes.
type ResizeSpec struct {
	Axes       []int
	Sizes      []int
	Scales     []float64
	ROI        []float64 // all starts, then all ends; for tf_crop_and_resize only
	KeepAspect string
	Attrs      ops.ResizeAttrs
}

// Resize resamples x.
func (b *Builder) Resize(x *graph.Value, s ResizeSpec) *graph.Value {
	rank, n := x.Type.Rank(), len(s.Axes)
	given := len(s.Scales)
	if s.Sizes != nil {
		given = len(s.Sizes)
	}
	if given != n {
		Fail("%d given as sizes or scales for %s", given, spelling.Count(n, "axis"))
	}
	a := s.Attrs
	a.Sizes = slices.Clone(x.Type.Shape)
	if s.Sizes != nil && s.KeepAspect != "not_larger" && s.KeepAspect != "not_smaller" {
		for i, k := range s.Axes {
			a.Sizes[k] = s.Sizes[i]
		}
	} else {
		a.Scales = slices.Repeat([]float64{1}, rank)
		s.scale(x.Type.Shape, &a)
	}
	if a.CoordinateTransformationMode == "tf_crop_and_resize" {
		if len(s.ROI) != 2*n {
			Fail("roi has %s for %s", spelling.Count(len(s.ROI), "number"), spelling.Count(n, "axis"))
		}
		a.ROI = append(make([]float64, rank), slices.Repeat([]float64{1}, rank)...)
		for i, k := range s.Axes {
			a.ROI[k], a.ROI[rank+k] = s.ROI[i], s.ROI[n+i]
		}
	} else if slices.Equal(a.Sizes, x.Type.Shape) && !slices.ContainsFunc(a.Scales, func(f float64) bool { return f != 1 }) {
		return x
	}
	return b.Apply(ops.Resize, a, x)
}

// scale sets Sizes and Scales where scales decide: the product in float32, rounded down, as ONNX Runtime has it, or with
// KeepAspect the one scale that fits all sizes, rounded to nearest.
func (s ResizeSpec) scale(shape []int, a *ops.ResizeAttrs) {
	if s.Sizes == nil {
		for i, k := range s.Axes {
			if f := s.Scales[i]; !(f > 0) || f*float64(shape[k]) > types.MaxElements {
				Fail("scale %v of axis %d", f, k)
			}
			a.Scales[k] = s.Scales[i]
			a.Sizes[k] = int(float32(shape[k]) * float32(s.Scales[i]))
		}
		return
	}
	f := math.Inf(1)
	if s.KeepAspect == "not_smaller" {
		f = 0
	}
	for i, k := range s.Axes {
		ratio := float64(s.Sizes[i]) / float64(shape[k])
		if s.KeepAspect == "not_smaller" {
			f = max(f, ratio)
		} else {
			f = min(f, ratio)
		}
	}
	for _, k := range s.Axes {
		a.Scales[k] = f
		if size := f*float64(shape[k]) + 0.5; size >= 0 && size <= types.MaxElements {
			a.Sizes[k] = int(size)
		} else {
			Fail("axis %d would have %v elements", k, size)
		}
	}
}

// Nearest is x with n elements along an axis, taken as TensorFlow takes them: element floor(i*scale), with half floor((i+1/2)*scale), with
// align the nearest one to i*scale, half away from zero, where scale brings the last to the last.
func (b *Builder) Nearest(x *graph.Value, axis, n int, align, half bool) *graph.Value {
	in := x.Type.Shape[axis]
	if in < 1 || n < 1 {
		Fail("%s of %d", spelling.Count(n, "element"), in)
	}
	scale := float32(in) / float32(n)
	if align && n > 1 {
		scale = float32(in-1) / float32(n-1)
	}
	places := make([]int, n)
	for i := range places {
		at := float32(i) * scale
		switch {
		case align:
			at = float32(math.Round(float64(at)))
		case half:
			at = (float32(i) + 0.5) * scale
		}
		places[i] = min(int(at), in-1)
	}
	return b.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, x, Ints(places...))
}
