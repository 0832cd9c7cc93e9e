package torch

import (
	"lathe/internal/compose"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// windowsOf gives windows of an axis, whose elements lie along a new last axis.
func windowsOf(c *call) any {
	x := c.x("self")
	a, size, step := c.axis("dimension", 0, x.Type.Rank()), c.int("size", 1), c.int("step", 1)
	n := x.Type.Shape[a]
	if size < 0 || size > n || step < 1 {
		fail("windows of %d elements, every %d, of an axis of %d", size, step, n)
	}
	count := (n-size)/step + 1
	at := c.Zeros(types.I64, count, size)
	for i := range count {
		for j := range size {
			at.SetInt(i*size+j, int64(i*step+j))
		}
	}
	y := c.Apply(ops.Take, ops.TakeAttrs{Axis: a}, x, compose.Const(at))
	order := make([]int, 0, y.Type.Rank())
	for k := range y.Type.Rank() {
		if k != a+1 {
			order = append(order, k)
		}
	}
	return c.Transpose(y, append(order, a+1)...)
}

// im2col gives the windows of images [N, C, H, W] as columns [N, C*kernel, windows].
func im2col(c *call) any {
	x := c.x("self")
	kernel, dilation, pad, stride := c.perAxis("kernel_size", 2, 1), c.perAxis("dilation", 2, 1), c.perAxis("padding", 2, 0), c.perAxis("stride", 2, 1)
	if x.Type.Rank() != 4 {
		fail("images %s", x.Type)
	}
	x = c.padded(x, []int{pad[1], pad[1], pad[0], pad[0]}, "constant", 0)
	channels := x.Type.Shape[1]
	windows := 1
	for k := range 2 {
		axis := 2 + 2*k
		n := (x.Type.Shape[axis]-(kernel[k]-1)*dilation[k]-1)/stride[k] + 1
		if n < 1 {
			fail("windows of %v in %s", kernel, x.Type)
		}
		at := c.Zeros(types.I64, kernel[k], n)
		for i := range kernel[k] {
			for j := range n {
				at.SetInt(i*n+j, int64(i*dilation[k]+j*stride[k]))
			}
		}
		x = c.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, x, compose.Const(at))
		windows *= n
	}
	y := c.Transpose(x, 0, 1, 2, 4, 3, 5)
	return c.Reshape(y, x.Type.Shape[0], channels*kernel[0]*kernel[1], windows)
}
