package impl

import (
	"cmp"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/target"
)

// A Division is a way to divide a kernel among workers: by runs of adjacent loops, fused to one.
type Division struct {
	Loops  []string
	Extent int
	// Periods tells for every parameter which elements the pieces touch. With n iterations, iteration i touches those at
	// offsets [i/n, (i+1)/n) of every period of so many elements; Whole means that every iteration touches all of them,
	// and Scattered that nothing is known.
	Periods []int
	Cost    float64 // cycles of two, three and four workers together, until the last of them is done; Divide computes it
}

const (
	Whole     = 0
	Scattered = -1
)

// An Operand is an input of the kernel.
type Operand struct {
	Bytes    int
	Constant bool
	Home     int // the period by which another kernel's workers wrote it, or Scattered
}

// Divide divides p's kernel among workers the way that costs least: workers are kept evenly busy, read little that other
// workers wrote, and do not all read the same constants. operands are those of the first parameters, in order; what is not
// known costs nothing. A way that turns out to be impossible is passed over; without any, one worker does all. It returns
// the period by which the workers write the result.
func (p *Plan) Divide(t *target.Target, operands []Operand) (home int) {
	for i := range p.Divisions {
		d := &p.Divisions[i]
		for _, workers := range []int{2, 3, 4} {
			d.Cost += d.cost(p.Flops, core{t}, operands, workers) * float64(workers)
		}
	}
	slices.SortStableFunc(p.Divisions, func(a, b Division) int { return cmp.Compare(a.Cost, b.Cost) })
	for _, d := range p.Divisions {
		whole := p.Schedule.Copy()
		if p.DivideBy(d) == nil {
			p.undivided = whole
			return d.Periods[len(d.Periods)-1]
		}
		p.Schedule = whole
	}
	return p.Home
}

// Copy is a plan that can be divided apart from p.
func (p *Plan) Copy() *Plan {
	c := *p
	c.Schedule, c.Divisions = p.Schedule.Copy(), slices.Clone(p.Divisions)
	return &c
}

// Undivide gives p's kernel to one worker and reports whether it had been divided.
func (p *Plan) Undivide() bool {
	if p.undivided == nil {
		return false
	}
	p.Schedule, p.undivided = p.undivided, nil
	p.Why += "; by one worker"
	return true
}

// DivideBy divides p's kernel as d, one of its divisions, says.
func (p *Plan) DivideBy(d Division) (err error) {
	v := d.Loops[0]
	for _, n := range d.Loops[1:] {
		if v, err = p.Schedule.Fuse(v, n); err != nil {
			return err
		}
	}
	return p.Schedule.Parallel(v)
}

// cost is about the cycles of the busiest of so many workers.
func (d *Division) cost(flops float64, c core, operands []Operand, workers int) float64 {
	busiest := float64((d.Extent+workers-1)/workers) / float64(d.Extent)
	time := c.Flops(flops) * busiest
	for i, o := range operands {
		touched := float64(o.Bytes)
		if d.Periods[i] != Whole {
			touched *= busiest
		}
		switch {
		case o.Constant:
			time += c.memory(touched)
		case d.Periods[i] <= 0 || d.Periods[i] != o.Home:
			time += c.Shared(touched * float64(workers-1) / float64(workers))
		}
	}
	return time
}

// Parallelize offers the given loops, outermost first, for division among workers: each by itself, and runs of
// neighbours. They must be the outermost loops of the kernel. Kernels too small to pay stay serial.
func (k *kernel) Parallelize(names []string) error {
	if k.Flops()+float64(k.Bytes())/4 < ParallelWork {
		return nil
	}
	for i := range names {
		for j := i + 1; j <= len(names); j++ {
			d := Division{Loops: slices.Clone(names[i:j]), Extent: 1}
			for _, n := range d.Loops {
				d.Extent *= k.s.Extent(n)
			}
			if d.Extent > 1 && k.s.Extent(names[i]) > 1 {
				d.Periods = k.periods(names[i])
				k.divisions = append(k.divisions, d)
			}
		}
	}
	return nil
}

// periods finds what iterations of a loop touch of every parameter.
func (k *kernel) periods(name string) []int {
	list := make([]int, len(k.Func.Params))
	n := k.s.Extent(name)
	for _, block := range k.Blocks {
		v := k.variable(block, name)
		if v == nil {
			continue
		}
		for _, a := range k.accesses(block) {
			i := slices.Index(k.Func.Params, a.buf)
			if i < 0 {
				continue
			}
			s, nonlinear := a.at.Coef(v) // in elements, also where an access takes several
			period := int(max(s, -s)) * n
			switch {
			case nonlinear, list[i] > 0 && period > 0 && list[i] != period:
				list[i] = Scattered
			case list[i] == Whole:
				list[i] = period
			}
		}
	}
	return list
}

// Divided is a loop over [0, n) whose iterations are divided among the workers if there are some, and enough work: the
// number of scalar operations of all iterations.
func Divided(name string, n int, work float64, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	kind := loop.Serial
	if n > 1 && work >= ParallelWork {
		kind = loop.Parallel
	}
	return build.Loop(kind, name, expr.Index(0), expr.Index(n), body)
}
