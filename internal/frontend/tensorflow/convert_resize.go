package tensorflow

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var resizeRows = []row{
	{"ResizeBilinear", one(resizeBilinear)}, {"ResizeNearestNeighbor", shared(tfops.ResizeNearest)}, {"ResizeBicubic", one(resizeBicubic)}, {"ResizeArea", one(resizeArea)},
	{"AdjustContrastv2", one(adjustContrast)}, {"RGBToHSV", one(rgbToHSV)},
}

// resized is x [batch, height, width, channels] with other sizes.
func (c *call) resized(x *graph.Value, sizes []int, method, coordinates string) *graph.Value {
	a := ops.ResizeAttrs{Method: method, CoordinateTransformationMode: coordinates}
	if method == "cubic" { // Keys with -1/2 and no weights outside for half pixels, -3/4 else (resize_bicubic_op.cc)
		a.CubicCoeffA = -0.75
		if coordinates == "half_pixel" {
			a.CubicCoeffA, a.ExcludeOutside = -0.5, true
		}
	}
	return c.ChannelsLast(c.Resize(c.ChannelsFirst(x), compose.ResizeSpec{Axes: []int{2, 3}, Sizes: sizes, Attrs: a}))
}

// floats is operand 0, in float32 where it has integers.
func (c *call) floats() *graph.Value {
	if x := c.X(0); !x.Type.DType.IsInt() {
		return x
	}
	return c.Cast(c.X(0), types.F32)
}

func resizeBilinear(c *call) *graph.Value {
	return c.Cast(c.resized(c.floats(), tfops.Sizes(c.Call, 1), "linear", tfops.Coordinates(c.Call)), types.F32)
}

func resizeBicubic(c *call) *graph.Value {
	return c.Cast(c.resized(c.floats(), tfops.Sizes(c.Call, 1), "cubic", tfops.Coordinates(c.Call)), types.F32)
}

// resizeArea gives the means of the areas that pixels cover: a product with a matrix of weights along each axis.
func resizeArea(c *call) *graph.Value {
	sizes, align := tfops.Sizes(c.Call, 1), c.Bool("align_corners", false)
	x := c.floats()
	for k, out := range sizes {
		in := x.Type.Shape[1+k]
		scale := float64(in) / float64(out)
		if align && out > 1 {
			scale = float64(in-1) / float64(out-1)
		}
		m := c.Zeros(x.Type.DType, in, out)
		for i := range out {
			from, to := float64(i)*scale, float64(i+1)*scale
			for j := int(from); j < int(math.Ceil(to)); j++ {
				at := min(j, in-1)*out + i
				m.SetFloat(at, m.Float(at)+(math.Min(to, float64(j+1))-math.Max(from, float64(j)))/scale)
			}
		}
		axes := []int{0, 1, 2, 3}
		axes[1+k], axes[3] = 3, 1+k
		x = c.Transpose(c.Matmul(c.Transpose(x, axes...), compose.Const(m)), axes...)
	}
	return c.Cast(x, types.F32)
}

// adjustContrast moves pixels away from the mean of their channel.
func adjustContrast(c *call) *graph.Value {
	c.WantRank(0, 3)
	x, rank := c.X(0), c.Rank(0)
	mean := c.Reduce(ops.Mean, x, true, rank-3, rank-2)
	return c.Do(ops.Add, c.Do(ops.Multiply, c.Do(ops.Subtract, x, mean), c.Cast(c.X(1), x.Type.DType)), mean)
}

// rgbToHSV gives hue, saturation and value of red, green and blue, the last axis.
func rgbToHSV(c *call) *graph.Value {
	x, last := c.X(0), c.Rank(0)-1
	if last < 0 || c.Shape(0)[last] != 3 {
		compose.Fail("operand %s", x.Type)
	}
	r, g, b := c.Slice(x, last, 0, 1), c.Slice(x, last, 1, 2), c.Slice(x, last, 2, 3)
	value := c.Reduce(ops.Max, x, true, last)
	spread := c.Do(ops.Subtract, value, c.Reduce(ops.Min, x, true, last))
	zero := compose.Like(x, 0)
	saturation := c.Do(ops.Where, c.Do(ops.Greater, value, zero), c.Do(ops.Divide, spread, value), zero)
	turn := func(a, b *graph.Value, from float64) *graph.Value {
		return c.Do(ops.Add, c.Do(ops.Divide, c.Do(ops.Subtract, a, b), c.Scaled(spread, 6)), compose.Like(x, from))
	}
	hue := c.Do(ops.Where, c.Do(ops.Equal, g, value), turn(b, r, 2.0/6), turn(r, g, 4.0/6))
	hue = c.Do(ops.Where, c.Do(ops.Equal, r, value), turn(g, b, 0), hue)
	hue = c.Do(ops.Where, c.Do(ops.Greater, spread, zero), hue, zero)
	hue = c.Do(ops.Where, c.Do(ops.Less, hue, zero), c.Do(ops.Add, hue, compose.Like(x, 1)), hue)
	return c.Concat(last, hue, saturation, value)
}
