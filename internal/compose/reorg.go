package compose

import "lathe/internal/graph"

// Reorg is Darknet's layer of this name. It takes the memory of x [batch, c, h, w] for a map of c/s² channels with sides s times as long, whose blocks of
// s x s pixels become channels, and gives the result the shape that moving blocks of x itself would have. back moves channels into blocks.
//
//	[b, c/s², h, s, w, s] → [b, s, s, c/s², h, w] → [b, c·s², h/s, w/s]
func (b *Builder) Reorg(x *graph.Value, stride int, back bool) *graph.Value {
	s := x.Type.Shape
	if len(s) != 4 || stride < 1 || stride > 64 || s[1]%(stride*stride) != 0 || !back && (s[2]%stride != 0 || s[3]%stride != 0) {
		Fail("a stride of %d for %s", stride, x.Type)
	}
	n, c, h, w, square := s[0], s[1], s[2], s[3], stride*stride
	if back {
		y := b.Reshape(x, n, stride, stride, c/square, h, w)
		return b.Reshape(b.Transpose(y, 0, 3, 4, 1, 5, 2), n, c/square, h*stride, w*stride)
	}
	y := b.Reshape(x, n, c/square, h, stride, w, stride)
	return b.Reshape(b.Transpose(y, 0, 3, 5, 1, 2, 4), n, c*square, h/stride, w/stride)
}
