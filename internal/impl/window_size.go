package impl

// A Strip describes a stage that is computed strip by strip for the windows through which another one reads it.
type Strip struct {
	Rows     int // rows of the result
	Stride   int // rows of the stage from one row of the result to the next
	Window   int // rows of the stage that one row of the result reads
	RowBytes int // of one row of the stage, for one panel of channels of an image
	Panels   int // of all images
}

// Choose gives the number of result rows to a strip, a divisor of all, and the share of the stage that is computed again
// because two strips need it. Long strips compute little again; they fit half of L2, for what they are made from and the
// weights pass through it too, and leave pieces enough for one, two or four workers.
func (s Strip) Choose(cpu CPU) (rows int, again float64) {
	best := 0.0
	for n := 1; n <= s.Rows; n++ {
		if s.Rows%n != 0 || n > 1 && ((n-1)*s.Stride+s.Window)*s.RowBytes > cpu.L2/2 {
			continue
		}
		share := 0.0
		if n < s.Rows {
			share = float64(max(0, s.Window-s.Stride)) / float64(n*s.Stride)
		}
		cost, pieces := 0.0, s.Panels*(s.Rows/n)
		for _, workers := range []int{1, 2, 4} {
			cost += (1 + share) * float64((pieces+workers-1)/workers*workers) / float64(pieces)
		}
		if rows == 0 || cost <= best {
			rows, again, best = n, share, cost
		}
	}
	return rows, again
}
