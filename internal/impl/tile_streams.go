package impl

import "math"

// decideStreams asks how many panels a tile of one row reads at once, and splits the loop over panels: the rows of a product use each weight
// once, so that memory sets the pace, and it is faster for several streams that its prefetchers follow than for one. What a cache holds is read by several for
// their sums, of which more are independent.
func (k *kernel) decideStreams(t *tiling, panels string, size Tile) (outer, inner string, err error) {
	if size.Rows*size.Lines > 1 {
		return panels, "", nil
	}
	n, turns := t.n/t.panel, leastTurns // whole panels
	if weights, _ := k.operandBytes(t.out, t.acc, t.lane, nil); weights <= Working(k.core.L2) {
		turns = 1
	}
	if most := k.core.streams(size.Vecs, n, 1); most > 1 {
		t.streams = k.DecideAmong(t.decision("streams"), k.core.streams(size.Vecs, n, turns), nil, Powers(most)...)
	}
	return k.splitTile(panels, t.streams)
}

// streams is the number of panels, each of so many vectors, that are read at once where there are n: a power of two, so that their sums leave half of
// the registers and there are so many turns, in which workers take part.
func (c core) streams(vecs, n, turns int) int {
	s := 1
	for 2*s <= c.Streams && 2*s*vecs <= c.VectorRegs/2 && 2*s*turns <= n {
		s *= 2
	}
	return s
}

// streaming is how many times as long memory takes for so many streams as for the most.
func (c core) streaming(streams int) float64 {
	return math.Pow(streamShare, math.Log2(max(1, float64(c.Streams)/float64(streams))))
}
