package strips

import (
	"strconv"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/target"
	"lathe/internal/types"
)

// A strip describes a stage that is computed strip by strip for the windows through which another one reads it.
type strip struct {
	Rows     int // rows of the result
	Stride   int // rows of the stage from one row of the result to the next
	Window   int // rows of the stage that one row of the result reads
	RowBytes int // of one row of the stage, for one panel of channels of an image
	Panels   int // of all images
}

// decision is whether the stage, a tensor of sums of so many products with pointwise operators behind them, is computed in
// strips, with the cycles of either way beside what both have in common: the way to the next cache and back, which a stage that
// stays in L2 does not go, or the rows that two strips need.
func (s strip) decision(t *target.Target, stage types.Tensor, products, pointwise int) choice.Decision {
	c := impl.Core{Target: t}
	list, best := s.sizes(c)
	again := list[best].again * float64(stage.Elements()) * float64(2*products+pointwiseWork*pointwise)
	way := 0.0
	if float64(stage.Bytes()) >= fills*float64(t.L2) {
		way = exposed * c.Shared(float64(stage.Bytes()))
	}
	return choice.Least("strips", choice.Value{Text: "off", Cost: way}, choice.Value{Text: "on", Cost: c.Flops(again)})
}

// A stripSize is a number of result rows, the share computed again, and the time of one, two and four workers together, in
// units of what computing all once takes.
type stripSize struct {
	rows        int
	again, cost float64
}

func (z stripSize) String() string { return strconv.Itoa(z.rows) }

// sizes lists the numbers of result rows to choose from, divisors of all, and which costs least. Long strips compute little
// again; they fit the working part of L2, for what they are made from and the weights pass through it too, and leave pieces
// enough for one, two or four workers.
func (s strip) sizes(c impl.Core) (list []stripSize, best int) {
	for n := 1; n <= s.Rows; n++ {
		if s.Rows%n != 0 || n > 1 && ((n-1)*s.Stride+s.Window)*s.RowBytes > impl.Working(c.L2) {
			continue
		}
		z := stripSize{rows: n}
		if n < s.Rows {
			z.again = float64(max(0, s.Window-s.Stride)) / float64(n*s.Stride)
		}
		pieces := s.Panels * (s.Rows / n)
		for _, workers := range []int{1, 2, 4} {
			z.cost += (1 + z.again) * float64((pieces+workers-1)/workers*workers) / float64(pieces)
		}
		list = append(list, z)
		if z.cost <= list[best].cost {
			best = len(list) - 1
		}
	}
	return list, best
}
