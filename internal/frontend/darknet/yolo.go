package darknet

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// yolo gives boxes as rows, of each picture by row and column of the map and by anchor: center and extents in units of the picture, objectness, and for each
// class its probability times objectness (Redmon and Farhadi, YOLOv3, 2018; scale_x_y as in YOLOv4).
func yolo(c *frontend.Call) *graph.Value {
	c.Ignore("num")
	x, classes, anchors, mask := c.X(0), c.Int("classes", 20), c.Floats("anchors"), c.Ints("mask")
	if c.Bool("new_coords", false) {
		compose.Fail("new_coords is not supported")
	}
	if mask == nil {
		for k := range len(anchors) / 2 {
			mask = append(mask, k)
		}
	}
	s := x.Type.Shape
	n, width := len(mask), 5+classes
	if n == 0 || classes < 1 || s[1] != n*width {
		compose.Fail("%d channels for %d anchors and %d classes", s[1], n, classes)
	}
	batch, h, w := s[0], s[2], s[3]
	columns, rows, sizes := tensor.Of([]int{1, 1, w, 1, 1}, make([]float32, w)), tensor.Of([]int{1, h, 1, 1, 1}, make([]float32, h)), tensor.Of([]int{1, 1, 1, n, 2}, make([]float32, 2*n))
	for k := range w {
		columns.SetFloat(k, float64(k))
	}
	for k := range h {
		rows.SetFloat(k, float64(k))
	}
	for i, k := range mask {
		if k < 0 || 2*k+1 >= len(anchors) {
			compose.Fail("mask %v of %d anchors", mask, len(anchors)/2)
		}
		sizes.SetFloat(2*i, anchors[2*k]/c.Float("net_width", 1))
		sizes.SetFloat(2*i+1, anchors[2*k+1]/c.Float("net_height", 1))
	}
	y := c.Transpose(c.Reshape(x, batch, n, width, h, w), 0, 3, 4, 1, 2)
	scale := c.Float("scale_x_y", 1)
	center := func(at int, grid *tensor.Tensor, extent int) *graph.Value {
		p := c.Scaled(c.Do(ops.Sigmoid, c.Slice(y, 4, at, at+1)), scale)
		if scale != 1 {
			p = c.Do(ops.Subtract, p, compose.Like(p, (scale-1)/2))
		}
		return c.Scaled(c.Do(ops.Add, p, compose.Const(grid)), 1/float64(extent))
	}
	extents := c.Do(ops.Multiply, c.Do(ops.Exp, c.Slice(y, 4, 2, 4)), compose.Const(sizes))
	object := c.Do(ops.Sigmoid, c.Slice(y, 4, 4, 5))
	class := c.Do(ops.Multiply, c.Do(ops.Sigmoid, c.Slice(y, 4, 5, width)), object)
	return c.Reshape(c.Concat(4, center(0, columns, w), center(1, rows, h), extents, object, class), batch*h*w*n, width)
}
