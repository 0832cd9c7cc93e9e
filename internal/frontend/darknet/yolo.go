package darknet

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// A head turns a map into boxes as rows, of each picture by row and column of the map and by anchor: center and extents in units of the
// picture, objectness, and for each class its probability times objectness.
type head struct {
	classes int
	anchors []float64 // extents, in units of the picture
	scale   float64   // of centers, about the middle of a cell
	softmax bool      // the probabilities of classes sum up to 1
	// The map holds activated numbers, and extents are (2x)^2 times anchors (Scaled-YOLOv4, new_coords).
	activated bool
}

// yolo is the head of YOLOv3 (Redmon and Farhadi, 2018) with scale_x_y of YOLOv4; anchors are in pixels of the network's input.
func yolo(c *frontend.Call) *graph.Value {
	c.Ignore("num")
	anchors, mask := c.Floats("anchors"), c.Ints("mask")
	if mask == nil {
		for k := range len(anchors) / 2 {
			mask = append(mask, k)
		}
	}
	h := head{classes: c.Int("classes", 20), scale: c.Float("scale_x_y", 1), activated: c.Bool("new_coords", false)}
	for _, k := range mask {
		if k < 0 || 2*k+1 >= len(anchors) {
			compose.Fail("mask %v of %d anchors", mask, len(anchors)/2)
		}
		h.anchors = append(h.anchors, anchors[2*k]/c.Float("net_width", 1), anchors[2*k+1]/c.Float("net_height", 1))
	}
	return h.boxes(c)
}

// region is the head of YOLOv2 (Redmon and Farhadi, "YOLO9000", 2016); anchors are in cells of the map.
func region(c *frontend.Call) *graph.Value {
	c.Ignore("num")
	if c.Has("tree") || c.Int("coords", 4) != 4 || c.Bool("background", false) {
		compose.Fail("trees of classes, backgrounds and other than four coordinates are not supported")
	}
	h := head{classes: c.Int("classes", 20), scale: 1, softmax: c.Bool("softmax", false)}
	s := c.Shape(0)
	for k, a := range c.Floats("anchors") {
		h.anchors = append(h.anchors, a/float64(s[3-k%2]))
	}
	return h.boxes(c)
}

func (h head) boxes(c *frontend.Call) *graph.Value {
	x := c.X(0)
	s := x.Type.Shape
	n, width := len(h.anchors)/2, 5+h.classes
	if n == 0 || len(h.anchors)%2 != 0 || h.classes < 1 || s[1] != n*width {
		compose.Fail("%d channels for %d anchors and %d classes", s[1], n, h.classes)
	}
	batch, height, across := s[0], s[2], s[3]
	columns, rows := tensor.Of([]int{1, 1, across, 1, 1}, make([]float32, across)), tensor.Of([]int{1, height, 1, 1, 1}, make([]float32, height))
	sizes := tensor.Of([]int{1, 1, 1, n, 2}, make([]float32, 2*n))
	for i, a := range h.anchors {
		sizes.SetFloat(i, a)
	}
	for _, grid := range []*tensor.Tensor{columns, rows} {
		for k := range grid.Len() {
			grid.SetFloat(k, float64(k))
		}
	}
	y := c.Transpose(c.Reshape(x, batch, n, width, height, across), 0, 3, 4, 1, 2)
	sigmoid := func(x *graph.Value) *graph.Value {
		if h.activated {
			return x
		}
		return c.Do(ops.Sigmoid, x)
	}
	center := func(at int, grid *tensor.Tensor) *graph.Value {
		p := c.Scaled(sigmoid(c.Slice(y, 4, at, at+1)), h.scale)
		if h.scale != 1 {
			p = c.Do(ops.Subtract, p, compose.Like(p, (h.scale-1)/2))
		}
		return c.Scaled(c.Do(ops.Add, p, compose.Const(grid)), 1/float64(grid.Len()))
	}
	growth := c.Slice(y, 4, 2, 4)
	if h.activated {
		growth = c.Scaled(c.Do(ops.Multiply, growth, growth), 4)
	} else {
		growth = c.Do(ops.Exp, growth)
	}
	extents := c.Do(ops.Multiply, growth, compose.Const(sizes))
	object := sigmoid(c.Slice(y, 4, 4, 5))
	class := c.Slice(y, 4, 5, width)
	if h.softmax {
		class = c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 4}, class)
	} else {
		class = sigmoid(class)
	}
	class = c.Do(ops.Multiply, class, object)
	return c.Reshape(c.Concat(4, center(0, columns), center(1, rows), extents, object, class), batch*height*across*n, width)
}
