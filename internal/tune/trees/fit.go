package trees

import (
	"cmp"
	"math"
	"slices"
)

// A column is a feature of all examples in bins: bin 0 is missing, bin b > 0 is at most thresholds[b-1], the last one above all.
type column struct {
	feature    int
	bin        []uint8
	thresholds []float64
}

// columns bins features by their quantiles, and leaves out what all examples share.
func columns(x [][]float64, features int) []column {
	var list []column
	for f := range features {
		values := make([]float64, 0, len(x))
		for _, row := range x {
			if f < len(row) && !math.IsNaN(row[f]) {
				values = append(values, row[f])
			}
		}
		missing := len(values) < len(x)
		slices.Sort(values)
		distinct := slices.Compact(slices.Clone(values))
		var at []float64
		switch {
		case len(distinct) == 0 || len(distinct) == 1 && !missing:
			continue
		case len(distinct) < bins-1:
			for i := range len(distinct) - 1 {
				at = append(at, distinct[i]+(distinct[i+1]-distinct[i])/2)
			}
		default:
			for b := 1; b < bins-1; b++ {
				at = append(at, values[b*len(values)/(bins-1)])
			}
			at = slices.Compact(at)
			if at[len(at)-1] == distinct[len(distinct)-1] {
				at = at[:len(at)-1] // nothing is above
			}
		}
		c := column{f, make([]uint8, len(x)), at}
		for i, row := range x {
			if f < len(row) && !math.IsNaN(row[f]) {
				b, _ := slices.BinarySearch(at, row[f])
				c.bin[i] = uint8(1 + b)
			}
		}
		list = append(list, c)
	}
	return list
}

// threshold is what values right of a split behind bin b are above: behind bin 0 all that are there.
func (c *column) threshold(b int) float64 {
	if b == 0 {
		return -math.MaxFloat64
	}
	return c.thresholds[b-1]
}

// A sum is of weights and of weighted residuals.
type sum struct{ weight, residual float64 }

func (s *sum) add(o sum)     { s.weight += o.weight; s.residual += o.residual }
func (s sum) less(o sum) sum { return sum{s.weight - o.weight, s.residual - o.residual} }

// A histogram holds sums of the examples of a node by column and bin.
type histogram [][bins]sum

// A grower grows trees of the same examples.
type grower struct {
	Options
	columns  []column
	weight   []float64
	residual []float64
	order    []int // examples; those of a node lie together
	spare    []int
}

// Fit learns y from x, where examples have weights. Rows of x may have different lengths: what they lack is missing.
func Fit(x [][]float64, y, weight []float64, o Options) *Model {
	o.Rounds, o.Rate = cmp.Or(o.Rounds, 150), cmp.Or(o.Rate, 0.1)
	o.Ridge, o.Least = cmp.Or(o.Ridge, 1), cmp.Or(o.Least, 2)
	m := &Model{}
	for _, row := range x {
		m.Features = max(m.Features, len(row))
	}
	g := &grower{Options: o, columns: columns(x, m.Features), weight: weight, residual: slices.Clone(y), order: make([]int, len(x)), spare: make([]int, len(x))}
	for range o.Rounds {
		t := g.grow()
		m.Trees = append(m.Trees, t)
		for i, row := range x {
			g.residual[i] -= t.at(row)
		}
	}
	return m
}

// grow makes the next tree.
func (g *grower) grow() Tree {
	for i := range g.order {
		g.order[i] = i
	}
	var t Tree
	for n := range t.Feature {
		t.Feature[n] = -1
	}
	g.split(&t, 0, g.order, g.histogram(g.order))
	return t
}

func (g *grower) histogram(examples []int) histogram {
	h := make(histogram, len(g.columns))
	for c := range g.columns {
		bin, sums := g.columns[c].bin, &h[c]
		for _, i := range examples {
			s := &sums[bin[i]&(bins-1)]
			s.weight += g.weight[i]
			s.residual += g.weight[i] * g.residual[i]
		}
	}
	return h
}

// split splits node n with its examples where that explains most, or makes all below it one leaf.
func (g *grower) split(t *Tree, n int, examples []int, h histogram) {
	if n >= splits {
		t.Value[n-splits] = g.leaf(examples)
		return
	}
	c, b := g.best(examples, h)
	if c < 0 {
		g.split(t, 2*n+1, examples, h)
		return
	}
	col := &g.columns[c]
	t.Feature[n], t.Threshold[n] = col.feature, col.threshold(b)
	left, right := 0, 0
	for _, i := range examples { // in their order on both sides
		if int(col.bin[i]) <= b {
			examples[left] = i
			left++
		} else {
			g.spare[right] = i
			right++
		}
	}
	copy(examples[left:], g.spare[:right])
	if 2*n+1 >= splits {
		g.split(t, 2*n+1, examples[:left], nil)
		g.split(t, 2*n+2, examples[left:], nil)
		return
	}
	// The histogram of one side is what the other leaves.
	few, many := examples[:left], examples[left:]
	if left > right {
		few, many = many, few
	}
	small := g.histogram(few)
	for c := range h {
		for b := range h[c] {
			h[c][b] = h[c][b].less(small[c][b])
		}
	}
	if left > right {
		g.split(t, 2*n+1, many, h)
		g.split(t, 2*n+2, few, small)
	} else {
		g.split(t, 2*n+1, few, small)
		g.split(t, 2*n+2, many, h)
	}
}

// best is the column and the last bin on the left of the split that explains most; -1 where none does.
func (g *grower) best(examples []int, h histogram) (column, bin int) {
	all := g.sum(examples)
	most := g.explained(all) * (1 + 1e-9)
	column = -1
	if all.weight < 2*g.Least {
		return column, 0
	}
	most += 1e-12
	for c := range h {
		var left sum
		for b := range len(g.columns[c].thresholds) + 1 {
			left.add(h[c][b])
			right := all.less(left)
			if left.weight < g.Least || right.weight < g.Least {
				continue
			}
			if e := g.explained(left) + g.explained(right); e > most {
				most, column, bin = e, c, b
			}
		}
	}
	return column, bin
}

// explained is by how much the squares of residuals shrink with a leaf for them.
func (g *grower) explained(s sum) float64 { return s.residual * s.residual / (s.weight + g.Ridge) }

func (g *grower) sum(examples []int) (s sum) {
	for _, i := range examples {
		s.add(sum{g.weight[i], g.weight[i] * g.residual[i]})
	}
	return s
}

func (g *grower) leaf(examples []int) float64 {
	s := g.sum(examples)
	return g.Rate * s.residual / (s.weight + g.Ridge)
}
