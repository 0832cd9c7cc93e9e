// Package impl holds the implementations of computations: which schedule a kernel gets on a target. A rule reads the
// kernel's accesses, not the operator's name, so that one rule serves convolution, matrix product and pooling alike.
package impl

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/target"
)

// A Plan is a scheduled kernel and what was decided for it.
type Plan struct {
	Schedule *sched.Schedule
	Rule     string // name of the rule
	Why      string // what was decided, for people

	Asked []choice.Decision // in the order of asking
	Taken choice.Point

	Divisions []Division      // ways to divide it among workers; none: one worker does it all, or loops of its own are divided
	Chunks    int             // of what it is divided into, for each worker; 0: one worker does it all
	Home      int             // of loops of its own: the period by which workers write the result, or Scattered
	Periods   []int           // of the division that was taken
	Flops     float64         // scalar operations
	small     bool            // one worker is done before others would have begun
	undivided *sched.Schedule // before Divide
}

// A Rule is a way to schedule kernels: a question, which reads, and an action, which rewrites through schedule primitives and
// asks for each of its decisions.
type Rule struct {
	Name    string
	Applies func(*Kernel) bool
	Apply   func(*Kernel) error
}

// Rules for kernels of any kind.
var (
	Scalar    = Algorithm{Rule: &Rule{"scalar", scalarApplies, scalar}}
	Streamed  = Algorithm{Rule: &Rule{"streamed", streamedApplies, streamed}}
	Tiles     = Algorithm{Rule: &Rule{"tile", tileApplies, tile}}
	Columns   = Algorithm{Rule: &Rule{"columns", columnsApply, columns}}
	Rows      = Algorithm{Rule: &Rule{"rows", rowsApply, rows}}
	Pointwise = Algorithm{Rule: &Rule{"pointwise", func(k *kernel) bool { return len(k.Stages) == 1 }, pointwise}}
	Serial    = Algorithm{Rule: &Rule{"serial", func(*kernel) bool { return true }, serial}}
)

// errRefused is what an action returns that finds only while it rewrites that its rule does not fit.
var errRefused = errors.New("the rule does not fit")

// Choose schedules k for the target; the first rule that applies is the default. chooser, which may be nil, decides what it names; the rest is decided by default.
func (all Algorithms) Choose(k *lower.Kernel, t *target.Target, chooser choice.Chooser) (*Plan, error) {
	w := newKernel(k, t, chooser)
	var open []*Rule
	for _, a := range all {
		if a.Rule != nil && a.Rule.Applies(w) {
			open = append(open, a.Rule)
		}
	}
	for ; len(open) > 0; w = newKernel(k, t, chooser) {
		var names []string
		for _, r := range open {
			names = append(names, r.Name)
		}
		i := w.decide("rule", 0, choice.Texts(names...))
		err := open[i].Apply(w)
		if errors.Is(err, errRefused) {
			open = slices.Delete(open, i, i+1)
			continue
		}
		if w.err != nil {
			return nil, w.err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: rule %s: %w\n%s", k.Func.Name, open[i].Name, err, w.s)
		}
		return &Plan{Schedule: w.s, Rule: open[i].Name, Why: w.why(0), Asked: w.log.Asked, Taken: w.log.Taken,
			Divisions: w.divisions, Home: Scattered, Flops: k.Flops(), small: w.small()}, nil
	}
	return nil, fmt.Errorf("%s: no schedule rule applies", k.Func.Name)
}

// small reports whether one worker is done before another would have met it.
func (k *kernel) small() bool { return k.Flops()+float64(k.Bytes())/4 < ParallelWork }

// newKernel is k before a rule has a part in it, with dot products where they are wanted.
func newKernel(k *lower.Kernel, t *target.Target, chooser choice.Chooser) *kernel {
	s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
	w := &kernel{Kernel: k, s: s, core: core{t}, asker: asker{log: &choice.Log{Chooser: chooser}}}
	w.dots()
	return w
}

// A kernel is being scheduled.
type kernel struct {
	*lower.Kernel
	s         *sched.Schedule
	core      core
	divisions []Division
	staged    []string // blocks that the schedule has beside those of the stages
	asker
}

// outBlock is the name of the output's block.
func (k *kernel) outBlock() string { return k.Func.Params[len(k.Func.Params)-1].Name }

// accesses returns the element offsets, as linear forms over loop variables, of every access to memory in a block: the
// loads of its value and its store.
func (k *kernel) accesses(block string) []access {
	_, around := k.find(block)
	return k.accessesIn(block, rangesOf(around))
}

// rangesOf gives the values of the variables of loops.
func rangesOf(around []*loop.For) arith.Ranges {
	r := arith.Ranges{}
	for _, f := range around {
		if n, ok := expr.IntOf(f.Extent); ok {
			r[f.Var] = arith.Span(int(n))
		}
	}
	return r
}

// accessesIn is accesses where variables have values in r.
func (k *kernel) accessesIn(block string, r arith.Ranges) []access {
	var list []access
	b, _ := k.find(block)
	if b == nil {
		return nil
	}
	bind := b.Bindings()
	add := func(buf *loop.Buffer, index []expr.Expr, store bool, each int64) {
		var flat expr.Expr = expr.Index(0)
		for i, s := range buf.Strides() {
			flat = expr.Add(flat, expr.Mul(expr.Subst(index[i], bind), expr.Index(s)))
		}
		list = append(list, access{buf, arith.LinearOf(r.Simplify(flat)), store, each})
	}
	grouped := map[*expr.Load]int{}
	expr.Walk(b.Body.Value, func(e expr.Expr) bool {
		if d, ok := e.(*expr.Dot); ok {
			grouped[d.A], grouped[d.B] = d.Width(), d.Width()
		}
		return true
	})
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		buf := l.From.(*loop.Buffer)
		switch {
		case grouped[l] > 0:
			add(buf, l.Index, false, int64(grouped[l]))
		case buf != b.Body.To:
			add(buf, l.Index, false, 1)
		}
	})
	add(b.Body.To, b.Body.Index, true, 1)
	return list
}

type access struct {
	buf   *loop.Buffer
	at    arith.Linear
	store bool
	each  int64 // elements that one access takes
}

// stride is the distance between iterations of v, in accesses where it is a whole number of them, else in elements; ok
// is false when it is not constant.
func (a access) stride(v *expr.Var) (n int64, ok bool) {
	n, inside := a.at.Coef(v)
	if n%a.each == 0 {
		n /= a.each
	}
	return n, !inside
}

// find returns a block and the loops around it.
func (k *kernel) find(name string) (*loop.Block, []*loop.For) { return k.s.Block(name) }

// iterations is how often a block runs.
func (k *kernel) iterations(block string) float64 {
	n := 1.0
	for _, name := range k.s.Loops(block) {
		n *= float64(k.s.Extent(name))
	}
	return n
}

// variable returns the variable of the named loop around a block.
func (k *kernel) variable(block, name string) *expr.Var {
	_, around := k.find(block)
	for _, f := range around {
		if f.Var.Name == name {
			return f.Var
		}
	}
	return nil
}

// try runs f on a copy of the schedule and keeps it when f returns true.
func (k *kernel) try(f func() bool) bool {
	s, fn := *k.s, *k.s.Func
	saved := sched.Schedule{Func: &fn, Trace: s.Trace[:len(s.Trace):len(s.Trace)]}
	if f() {
		return true
	}
	k.s.Func.Body, k.s.Trace = saved.Func.Body, saved.Trace
	return false
}

// trial reports what f returns and undoes what it did.
func (k *kernel) trial(f func() bool) (ok bool) {
	k.try(func() bool { ok = f(); return false })
	return ok
}

// unitStride reports whether every access of the block has stride 0 or 1 in v.
func (k *kernel) unitStride(block string, v *expr.Var) bool {
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !ok || n != 0 && n != 1 {
			return false
		}
	}
	return true
}

// laneStrides reports whether every access of the block has a stride in v that one of lanes may have.
func (k *kernel) laneStrides(block string, v *expr.Var) bool {
	for _, a := range k.accesses(block) {
		if n, ok := a.stride(v); !ok || !a.inLanes(n) {
			return false
		}
	}
	return true
}
