package keras

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var resampleRows = []row{
	{"UpSampling1D", one(upSampling)}, {"UpSampling2D", one(upSampling)}, {"UpSampling3D", one(upSampling)},
	{"Resizing", one(resizing)}, {"CenterCrop", one(centerCrop)}, {"Rescaling", one(rescaling)},
}

// resampled changes spatial extents with half pixels, as TensorFlow does: nearest takes the place above of two that are as near.
func (c *call) resampled(x *graph.Value, from int, sizes []int, method string, antialias bool) *graph.Value {
	a := ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: "half_pixel", Antialias: antialias}
	switch method {
	case "nearest":
		a.Method, a.NearestMode, a.Antialias = "nearest", "round_prefer_ceil", false
	case "bicubic": // Keys' kernel; what lies outside has no weight
		a.Method, a.CubicCoeffA, a.ExcludeOutside = "cubic", -0.5, true
	}
	spec := compose.ResizeSpec{Sizes: sizes, Attrs: a}
	for k, size := range sizes {
		if size < 1 || size > 1<<16 {
			compose.Fail("an extent of %d", size)
		}
		spec.Axes = append(spec.Axes, from+k)
	}
	return c.Resize(x, spec)
}

func upSampling(c *call) *graph.Value {
	x := c.X(0)
	from, n := c.spatial(x)
	size := c.extents("size", n, 2)
	if c.Has("length") {
		size = c.extents("length", n, 2)
	}
	method := c.OneOf("interpolation", "nearest", "nearest", "bilinear", "bicubic")
	if method == "nearest" {
		for k, f := range size {
			if f > 1 {
				x = c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: from + k, Repeats: f}, x)
			}
		}
		return x
	}
	sizes := make([]int, n)
	for k, f := range size {
		sizes[k] = x.Type.Shape[from+k] * f
	}
	return c.resampled(x, from, sizes, method, false)
}

// resizing gives pictures height and width: as they are, or the middle of them, or with a margin, so that their aspect ratio stays.
func resizing(c *call) *graph.Value {
	x := c.X(0)
	from, _ := c.spatial(x)
	h, w := c.Int("height", 0), c.Int("width", 0)
	if h < 1 || w < 1 {
		compose.Fail("an extent of %d x %d", h, w)
	}
	fill := c.Float("fill_value", 0)
	c.Ignore("fill_mode")
	crop, margin := c.Bool("crop_to_aspect_ratio", false), c.Bool("pad_to_aspect_ratio", false)
	switch {
	case crop:
		x = c.middle(x, from, h, w)
	case margin:
		c.OneOf("fill_mode", "constant", "constant")
		x = c.margin(x, from, h, w, fill)
	}
	return c.resampled(x, from, []int{h, w}, c.OneOf("interpolation", "bilinear", "nearest", "bilinear", "bicubic"), c.Bool("antialias", false))
}

// middle is the greatest part in the middle of pictures that has the aspect ratio of h and w.
func (c *call) middle(x *graph.Value, from, h, w int) *graph.Value {
	height, width := x.Type.Shape[from], x.Type.Shape[from+1]
	ch, cw := min(height, int(float32(width*h)/float32(w))), min(width, int(float32(height*w)/float32(h)))
	if ch < 1 || cw < 1 {
		compose.Fail("%d x %d of %s", h, w, x.Type)
	}
	x = c.Slice(x, from, (height-ch)/2, (height-ch)/2+ch)
	return c.Slice(x, from+1, (width-cw)/2, (width-cw)/2+cw)
}

// margin puts pictures in the middle of the least ones that have the aspect ratio of h and w.
func (c *call) margin(x *graph.Value, from, h, w int, fill float64) *graph.Value {
	height, width := x.Type.Shape[from], x.Type.Shape[from+1]
	ph, pw := max(height, int(float32(width*h)/float32(w))), max(width, int(float32(height*w)/float32(h)))
	a := ops.PadAttrs{PadBefore: make([]int, x.Type.Rank()), PadAfter: make([]int, x.Type.Rank()), Mode: "constant", Value: fill}
	a.PadBefore[from], a.PadBefore[from+1] = (ph-height)/2, (pw-width)/2
	a.PadAfter[from], a.PadAfter[from+1] = ph-height-(ph-height)/2, pw-width-(pw-width)/2
	return c.Apply(ops.Pad, a, x)
}

// centerCrop is the middle of pictures, which are made greater with their aspect ratio kept where they are too small.
func centerCrop(c *call) *graph.Value {
	x := c.X(0)
	from, _ := c.spatial(x)
	h, w := c.Int("height", 0), c.Int("width", 0)
	if h < 1 || w < 1 {
		compose.Fail("an extent of %d x %d", h, w)
	}
	height, width := x.Type.Shape[from], x.Type.Shape[from+1]
	if height < h || width < w {
		return c.resampled(c.middle(x, from, h, w), from, []int{h, w}, "bilinear", false)
	}
	top, left := (height-h)/2, (width-w)/2
	return c.Slice(c.Slice(x, from, top, top+h), from+1, left, left+w)
}

// rescaling is scale*x + offset, which may be one of each channel.
func rescaling(c *call) *graph.Value {
	x := c.X(0)
	if !x.Type.DType.IsFloat() {
		x = c.Cast(x, types.F32)
	}
	number := func(option string, absent float64) *graph.Value {
		c.Ignore(option)
		if !c.Has(option) {
			return compose.Like(x, absent)
		}
		v := c.array(c.Values[option], x.Type.DType)
		if v.Type.Elements() == 1 {
			return c.Scalar(v)
		}
		return v
	}
	if f, ok := c.Values["scale"].(float64); ok {
		c.Ignore("scale")
		x = c.Scaled(x, f)
	} else {
		x = c.Do(ops.Multiply, x, number("scale", 1))
	}
	return c.Do(ops.Add, x, number("offset", 0))
}
