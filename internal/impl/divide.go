package impl

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/sched"
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
	Touched []int   // bytes of every parameter that the kernel accesses at most; less than all of it where it looks some up
	Inside  bool    // every worker runs other loops around them
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

func (d Division) String() string { return strings.Join(d.Loops, " ") }

// Divide divides p's kernel among workers the way that costs least, unless chooser, which may be nil, decides otherwise: workers
// are kept evenly busy, read little that other workers wrote, and do not all read the same constants. operands are those of the
// first parameters, in order; what is not known costs nothing. A way that turns out to be impossible is no value; without
// any, one worker does all. It returns the period by which the workers write the result.
func (p *Plan) Divide(t *target.Target, operands []Operand, chooser choice.Chooser) (home int, err error) {
	own := len(p.Divisions) == 0
	if own && !loop.Divided(p.Schedule.Func.Body) {
		return p.Home, nil
	}
	a := &asker{log: &choice.Log{Chooser: chooser, Asked: p.Asked, Taken: p.Taken}}
	home = p.Home
	switch alone := a.decide("workers", indexIf(!p.small), choice.Texts("one", "all")) == 0; {
	case alone && own:
		home = Scattered
		p.Serialise()
	case !alone && own:
		p.chunks(Division{}, core{t}, operands, a)
	case !alone:
		home = p.divide(core{t}, operands, a)
	}
	p.Why = strings.TrimPrefix(p.Why+", "+a.why(len(p.Asked)), ", ")
	p.Asked, p.Taken = a.log.Asked, a.log.Taken
	return home, a.err
}

// divide divides p's kernel one of its ways.
func (p *Plan) divide(c core, operands []Operand, a *asker) (home int) {
	for i := range p.Divisions {
		d := &p.Divisions[i]
		for _, workers := range []int{2, 3, 4} {
			alone, others := d.busiest(p.Flops, c, operands, workers)
			d.Cost += (alone + c.Taken(others)) * float64(workers)
		}
	}
	slices.SortStableFunc(p.Divisions, func(a, b Division) int { return cmp.Compare(a.Cost, b.Cost) })
	for ways := slices.Clone(p.Divisions); len(ways) > 0; {
		d := DecideOne(a, "division", 0, ways, func(d Division) float64 { return d.Cost })
		whole := p.Schedule.Copy()
		if p.DivideBy(d) == nil {
			p.undivided, p.Periods = whole, d.Periods
			p.chunks(d, c, operands, a)
			return d.Periods[len(d.Periods)-1]
		}
		p.Schedule = whole
		ways = slices.DeleteFunc(ways, func(o Division) bool { return slices.Equal(o.Loops, d.Loops) })
		a.log.Undo()
	}
	a.log.Taken["workers"] = "one"
	return p.Home
}

// chunks decides into how many chunks for each worker the kernel is cut that d divides. A worker waits for half of the last
// chunk of another; each chunk is claimed, by a line of the cache that may be another core's, and begins anew.
func (p *Plan) chunks(d Division, c core, operands []Operand, a *asker) {
	const workers = 2
	begin, share := c.meeting()+kernelStart, c.Flops(p.Flops)/workers
	if len(d.Periods) > 0 {
		alone, others := d.busiest(p.Flops, c, operands, workers)
		share = alone + c.Shared(others) // whoever writes there again waits then, and nobody for a chunk
	}
	for i, o := range operands {
		if d.Inside && d.Periods[i] == Whole { // read again by every chunk
			begin += c.Shared(float64(o.Bytes))
		}
	}
	numbers := []int{1, 2, 4, 8}
	cost := func(n int) float64 { return float64(n)*begin + share/float64(2*n) }
	best := 0
	for i, n := range numbers {
		if cost(n) < cost(numbers[best]) {
			best = i
		}
	}
	p.Chunks = DecideOne(a, "chunks", best, numbers, cost)
}

// Serialise makes one worker run loops of its own.
func (p *Plan) Serialise() {
	f := *p.Schedule.Func
	f.Body = loop.Rewrite(f.Body, func(s loop.Stmt) loop.Stmt {
		if l, ok := s.(*loop.For); ok && l.Kind == loop.Parallel {
			c := *l
			c.Kind = loop.Serial
			return &c
		}
		return s
	})
	p.Schedule = sched.New(&f)
}

// Copy is a plan that can be divided apart from p.
func (p *Plan) Copy() *Plan {
	c := *p
	c.Schedule, c.Divisions = p.Schedule.Copy(), slices.Clone(p.Divisions)
	c.Asked, c.Taken = slices.Clip(p.Asked), maps.Clone(p.Taken)
	return &c
}

// Undivide gives p's kernel to one worker and reports whether it had been divided.
func (p *Plan) Undivide() bool {
	if p.undivided == nil {
		return false
	}
	p.Schedule, p.undivided, p.Chunks, p.Periods = p.undivided, nil, 0, nil
	p.Taken["workers"] = "one"
	delete(p.Taken, "division")
	delete(p.Taken, "chunks")
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

// busiest is about the work of the busiest of so many workers: cycles, and the bytes that it reads of what others wrote.
func (d *Division) busiest(flops float64, c core, operands []Operand, workers int) (alone, others float64) {
	part := float64((d.Extent+workers-1)/workers) / float64(d.Extent)
	alone = c.Flops(flops) * part
	for i, o := range operands {
		touched := float64(min(o.Bytes, d.Touched[i]))
		if d.Periods[i] != Whole {
			touched *= part
		}
		if o.Constant {
			alone += c.Fetched(touched)
		} else {
			others += touched * foreign(d.Periods[i], o.Home, float64(workers))
		}
	}
	return alone, others
}

// foreign is the share of what a worker reads by one period that others wrote who were divided by another. Periods are about equal where one has a
// last piece that is not whole: shares begin a little later then, the last by most.
func foreign(period, home int, workers float64) float64 {
	all := (workers - 1) / workers
	if period <= 0 || home <= 0 {
		return all
	}
	least, most := float64(min(period, home)), float64(max(period, home))
	return min(all, (workers-1)*(most-least)/most)
}

// Parallelize offers the given loops, outermost first, for division among workers: each by itself, and runs of
// neighbours. They must be the outermost loops of the kernel.
func (k *kernel) Parallelize(names []string) error {
	touched := k.touched()
	for i, n := range names {
		if k.s.Extent(n) < 2 {
			continue
		}
		periods, extent := k.periods(n), 1
		for j := i; j < len(names); j++ {
			extent *= k.s.Extent(names[j])
			k.divisions = append(k.divisions, Division{Loops: slices.Clone(names[i : j+1]), Extent: extent, Periods: periods, Touched: touched, Inside: i > 0})
		}
	}
	return nil
}

// touched is how many bytes of every parameter are accessed at most.
func (k *kernel) touched() []int {
	list := make([]int, len(k.Func.Params))
	for _, block := range slices.Concat(k.Blocks, k.staged) {
		_, around := k.find(block)
		for _, a := range k.accesses(block) {
			i := slices.Index(k.Func.Params, a.buf)
			if i < 0 {
				continue
			}
			all := a.buf.Bytes()
			bytes := a.buf.DType.Bytes(int(a.each))
			for _, f := range around {
				if n, inside := a.at.Coef(f.Var); n != 0 || inside {
					bytes = min(all, bytes*k.s.Extent(f.Var.Name))
				}
			}
			list[i] = min(all, list[i]+bytes)
		}
	}
	return list
}

// periods finds what iterations of a loop touch of every parameter.
func (k *kernel) periods(name string) []int {
	list := make([]int, len(k.Func.Params))
	n := k.s.Extent(name)
	for _, block := range slices.Concat(k.Blocks, k.staged) {
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

// DividedPairs is a loop over all pairs of [0, m) and [0, n), which workers divide if there are several.
func DividedPairs(name string, m, n int, body func(i, j expr.Expr) loop.Stmt) loop.Stmt {
	return Divided(name, m*n, func(p expr.Expr) loop.Stmt {
		return body(expr.Bin(expr.OpFloorDiv, p, expr.Index(n)), expr.Bin(expr.OpFloorMod, p, expr.Index(n)))
	})
}

// Divided is a loop over [0, n) whose iterations workers divide if there are several.
func Divided(name string, n int, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	kind := loop.Serial
	if n > 1 {
		kind = loop.Parallel
	}
	return build.Loop(kind, name, expr.Index(0), expr.Index(n), body)
}
