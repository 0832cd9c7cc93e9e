package matrix

import (
	"lathe/internal/expr"
	"lathe/internal/ops"
)

// A grid is how the pixels of a convolution's result become rows of a product. Lines of data have all bytes that a pixel needs of them
// behind each other, so that a pixel is a row that begins step bytes after that of the one before. All lines are of pitch rows, which makes
// one run of rows of several lines; of the last rows of a line, beyond its pixels, the sums are not used.
type grid struct {
	images, height, width int // of the result
	channels              int // of the data, in whole groups
	in                    [2]int
	strides, dilation     [2]int
	padding               [2]int // before
	kernel                [2]int
	taps                  [2]int // runs of bytes that a pixel needs: lines, and runs of a line
	run                   int    // bytes of a run
	pitch                 int    // rows of a line
}

// gridOf describes a convolution without groups of data [N, C, H, W].
func gridOf(a ops.ConvAttrs, x, w, y []int) grid {
	pair := func(v []int) [2]int { return [2]int{v[0], v[1]} }
	g := grid{images: y[0], height: y[2], width: y[3], channels: groups(x[1]) * expr.DotWidth, in: pair(x[2:]),
		strides: pair(a.Strides), dilation: pair(a.Dilation), padding: pair(a.Padding), kernel: pair(w[2:])}
	g.taps, g.run = g.kernel, g.channels
	if g.dilation[1] == 1 { // neighbours are one run
		g.taps[1], g.run = 1, g.channels*g.kernel[1]
	}
	reach := (g.width-1)*g.strides[1] + (g.kernel[1]-1)*g.dilation[1] + 1
	g.pitch = (reach + g.strides[1] - 1) / g.strides[1]
	if g.strides[1] == 1 && a.Padding[1] == 0 && g.pitch <= g.in[1] {
		g.pitch = g.in[1] // the data themselves may be lines
	}
	return g
}

// groups is the number of groups of elements that hold n.
func groups(n int) int { return (n + expr.DotWidth - 1) / expr.DotWidth }

// inPlace reports whether the data lie in such lines as they are.
func (g grid) inPlace() bool {
	return g.strides == [2]int{1, 1} && g.padding == [2]int{} && g.pitch == g.in[1] && g.height+(g.kernel[0]-1)*g.dilation[0] <= g.in[0]
}

// rowsOf is the number of rows of so many lines of the result.
func (g grid) rowsOf(lines int) int { return (lines-1)*g.pitch + g.width }

// phases is the number of lines of data between those of neighbouring lines of the result, at most as many as are needed. Lines of scratch
// lie in such phases, in which those that neighbouring lines need are neighbours too.
func (g grid) phases() int { return min(g.strides[0], (g.kernel[0]-1)*g.dilation[0]+1) }

// lines is the number of lines of data of a phase that so many lines of the result need.
func (g grid) lines(n int) int { return n + (g.kernel[0]-1)*g.dilation[0]/g.strides[0] }

// bytes are those of the lines of data that so many lines of the result need, in scratch. A run may reach behind the last line.
func (g grid) bytes(lines int) int {
	return g.phases() * g.lines(lines) * g.pitch * g.strides[1] * g.channels
}

// shape is the product that computes all images, to so many channels.
func (g grid) shape(channels int) shape {
	s := g.strip(g.height, channels)
	s.rows, s.distinct, s.copied = g.images*s.rows, g.images*s.distinct, g.images*s.copied
	return s
}

// strip is the product that computes so many lines of an image.
func (g grid) strip(lines, channels int) shape {
	data := g.bytes(lines)
	s := shape{rows: g.rowsOf(lines), columns: channels, taps: g.taps[0] * g.taps[1], depth: g.run, distinct: data, pitch: g.strides[1] * g.channels, outermost: g.taps[0]}
	if g.taps[0] == 1 {
		s.outermost = g.taps[1]
	}
	if !g.inPlace() {
		s.copied = data
	}
	return s
}
