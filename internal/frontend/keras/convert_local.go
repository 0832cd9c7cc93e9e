package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var localRows = []row{{"LocallyConnected1D", one(locallyConnected)}, {"LocallyConnected2D", one(locallyConnected)}}

// locallyConnected is a convolution with weights of its own at each place: [places, window*channels, filters] and a bias of each result. Windows are
// rows of elements and channels in the order of the data.
func locallyConnected(c *call) *graph.Value {
	if c.Int("implementation", 1) != 1 {
		compose.Fail("with implementation %d is not supported", c.Int("implementation", 1))
	}
	c.OneOf("padding", "valid", "valid")
	last := c.channelsLast()
	x := c.X(0)
	n := x.Type.Rank() - 2
	kernel := c.extents("kernel_size", n, 1)
	strides := c.extents("strides", n, 1)
	if !last { // the places of the data are those of channels-last; only the order within a window differs
		x = c.ChannelsLast(x)
	}
	s := x.Type.Shape
	channels, places := s[n+1], make([]int, n)
	for k := range n {
		if strides[k] < 1 || kernel[k] < 1 || s[1+k] < kernel[k] {
			compose.Fail("windows of %v with strides %v of %s", kernel, strides, x.Type)
		}
		places[k] = (s[1+k]-kernel[k])/strides[k] + 1
	}
	var taps values // [batch, places, channels] of each element of a window
	at := make([]int, n)
	for range types.Count(kernel) {
		tap := x
		for k := range n {
			tap = c.Slice(tap, 1+k, at[k], at[k]+(places[k]-1)*strides[k]+1)
			if strides[k] > 1 {
				tap = c.Every(tap, 1+k, strides[k])
			}
		}
		taps = append(taps, c.Reshape(tap, s[0], types.Count(places), channels))
		for k := n - 1; k >= 0; k-- {
			if at[k]++; at[k] < kernel[k] {
				break
			}
			at[k] = 0
		}
	}
	axis := 2
	if !last {
		axis = 3
	}
	windows := c.Reshape(c.Stack(axis, taps...), s[0], types.Count(places), len(taps)*channels)
	w := c.weight(0)
	if w.Type.Rank() != 3 || w.Type.Shape[0] != types.Count(places) || w.Type.Shape[1] != len(taps)*channels {
		compose.Fail("weights %s for %d places with windows of %d", w.Type, types.Count(places), len(taps)*channels)
	}
	y := c.Transpose(c.Matmul(c.Transpose(windows, 1, 0, 2), w), 1, 0, 2)
	y = c.Reshape(y, slices.Concat([]int{s[0]}, places, []int{w.Type.Shape[2]})...)
	if !last {
		y = c.ChannelsFirst(y)
	}
	if c.Bool("use_bias", true) {
		y = c.Do(ops.Add, y, c.weight(1))
	}
	return c.activated(y)
}
