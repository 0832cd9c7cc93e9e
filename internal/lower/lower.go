// Package lower turns tensor expressions into loop IR: one kernel per output, a plain nest of loops per stage, logical
// indices resolved into physical ones. It decides nothing about speed; package sched does.
package lower

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/te"
	"lathe/internal/types"
)

// Options says what the caller knows beyond the expressions.
type Options struct {
	// Value gives the element of a stage that is a constant of one value everywhere.
	Value func(*te.Stage) (expr.Expr, bool)
	// Keep lists pointwise stages to materialise rather than recompute at every use.
	Keep func(*te.Stage) bool
	// Apart keeps the axes of the output apart that could be walked as one.
	Apart bool
}

// A Kernel is one function in loop IR and the stages its parameters stand for, the output last.
type Kernel struct {
	Func   *loop.Func
	Params []*te.Stage
	// Stages are the materialised stages, producers first; the last is the output and is pointwise. Blocks are the names
	// of their blocks.
	Stages []*te.Stage
	Blocks []string
	// Resident says that what it reads is in L2 or L3 already, from where it ran last. Lower leaves it false.
	Resident bool
}

// Lower makes the kernel that computes out. Each materialised stage is a nest of loops with one block named after the
// stage; loop variables are the stage's name with the axis: y_i1, its block part y_i1b, reductions y_r0. Lanes of padded
// layouts are stored as zeros. Every load is proven in range or clamped.
func Lower(name string, out *te.Stage, o Options) *Kernel {
	if o.Value != nil {
		out = fold(out, o.Value)
	}
	out = chain(normalize(withoutEmpty(out)))
	kept := costly(out)
	out = inline(out, func(s *te.Stage) bool { return kept[s] || stays(s) || o.Keep != nil && o.Keep(s) })
	if len(out.Reduce) > 0 {
		anchor := *out
		anchor.Name += "_acc"
		out = te.Compute(out.Name, out.Type, func(i []expr.Expr) expr.Expr { return anchor.At(i...) })
		out = renameSource(out, &anchor)
	}
	out = shareLayout(out)
	out = periods(groupAxes(wholeBlocks(out)))
	if !o.Apart {
		out = collapse(out)
	}
	k := &Kernel{}
	l := &lowering{buffers: map[*te.Stage]*loop.Buffer{}}
	names := map[string]int{}
	var nests []loop.Stmt
	var temps []*loop.Buffer
	for _, s := range te.Order(out) {
		b := &loop.Buffer{Name: unique(names, s.Name), DType: s.Type.DType, Shape: s.Type.Dims(), Align: 64}
		l.buffers[s] = b
		if s.Body == nil {
			k.Params = append(k.Params, s)
			continue
		}
		k.Stages = append(k.Stages, s)
		k.Blocks = append(k.Blocks, b.Name)
		if s != out {
			// Intermediates keep the compute type: they never leave the kernel.
			b.DType = s.Type.DType.Compute()
			b.Scope = loop.Worker
			temps = append(temps, b)
		}
		nests = append(nests, l.nest(s, s == out || s.Tag == Strips))
	}
	k.Params = append(k.Params, out)
	f := &loop.Func{Name: name}
	for _, p := range k.Params {
		f.Params = append(f.Params, l.buffers[p])
	}
	f.Body = nests[0]
	if len(nests) > 1 {
		f.Body = &loop.Seq{List: nests}
	}
	for i := len(temps) - 1; i >= 0; i-- {
		f.Body = &loop.Alloc{Buffer: temps[i], Body: f.Body}
	}
	k.Func = f
	return k
}

// renameSource points loads of an anchor copy at the copy itself.
func renameSource(out, anchor *te.Stage) *te.Stage {
	out.Body = expr.Rewrite(out.Body, func(e expr.Expr) expr.Expr {
		if l, ok := e.(*expr.Load); ok {
			return &expr.Load{From: anchor, Index: l.Index}
		}
		return e
	})
	return out
}

func unique(names map[string]int, s string) string {
	names[s]++
	if n := names[s]; n > 1 {
		return fmt.Sprintf("%s_%d", s, n)
	}
	return s
}

type lowering struct {
	buffers map[*te.Stage]*loop.Buffer
}

// nest makes the loops and the block of stage s. pad asks for zeros in the lanes beyond the logical extent.
func (l *lowering) nest(s *te.Stage, pad bool) loop.Stmt {
	b := l.buffers[s]
	block := &loop.Block{Name: b.Name}
	ranges := arith.Ranges{}
	iter := func(name string, extent int, reduce bool) (*expr.Var, *expr.Var) {
		v, lv := expr.NewVar(name), expr.NewVar(b.Name+"_"+name)
		block.Iters = append(block.Iters, loop.Iter{Var: v, Extent: extent, Reduce: reduce, Binding: lv})
		ranges[v] = arith.Span(extent)
		return v, lv
	}
	var loops []*loop.For
	addLoop := func(lv *expr.Var, extent int) {
		loops = append(loops, &loop.For{Var: lv, Min: expr.Index(0), Extent: expr.Index(extent)})
	}
	axes, index, inside := l.axes(s, iter, addLoop)
	for i, r := range s.Reduce {
		v, lv := iter(fmt.Sprintf("r%d", i), r.Extent, true)
		addLoop(lv, r.Extent)
		axes[r.Var] = v
	}
	var facts arith.Facts
	if pad && inside != nil {
		facts = facts.And(inside)
	}
	p := physical{l, ranges}
	value := p.expr(expr.Subst(s.Body, axes), facts)
	zero := expr.Const(b.DType.Compute(), 0)
	guard := func(e expr.Expr) expr.Expr {
		if !pad {
			return e
		}
		return expr.If(inside, e, zero)
	}
	if len(s.Reduce) > 0 {
		id := s.Combine.Identity(b.DType.Compute())
		block.Init = &loop.Store{To: b, Index: index, Value: guard(id)}
		if pad && inside != nil {
			value = expr.If(inside, value, id)
		}
		old := &expr.Load{From: b, Index: index}
		block.Body = &loop.Store{To: b, Index: index, Value: expr.Bin(s.Combine.Op(), old, value)}
	} else {
		block.Body = &loop.Store{To: b, Index: index, Value: ranges.Simplify(guard(stored(value, b.DType)))}
	}
	var body loop.Stmt = block
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = body
		body = loops[i]
	}
	return body
}

// stored is e without a rounding to the type of the element that it is stored to.
func stored(e expr.Expr, to types.DType) expr.Expr {
	if wide, ok := e.(*expr.Cast); ok && wide.To == to.Compute() {
		if round, ok := wide.A.(*expr.Cast); ok && round.To == to && to != to.Compute() && round.A.DType() == wide.To {
			return round.A
		}
	}
	return e
}

// axes adds an iteration variable per physical axis of s. It returns what each logical axis is in terms of them, the
// store index, and the condition under which the element is a logical one (nil: always).
func (l *lowering) axes(s *te.Stage, iter func(string, int, bool) (*expr.Var, *expr.Var), addLoop func(*expr.Var, int)) (axes map[*expr.Var]expr.Expr, index []expr.Expr, inside expr.Expr) {
	axes = map[*expr.Var]expr.Expr{}
	dims := s.Type.Dims()
	for i, part := range s.Type.Layout.Parts(len(s.Type.Shape)) {
		name := fmt.Sprintf("i%d", part.Axis)
		if part.Inner {
			name += "b"
		}
		v, lv := iter(name, dims[i], false)
		addLoop(lv, dims[i])
		index = append(index, v)
		var e expr.Expr = v
		if part.Block > 0 && !part.Inner {
			e = expr.Mul(v, expr.Index(part.Block))
		}
		a := s.Axes[part.Axis]
		if old, ok := axes[a]; ok {
			if part.Inner {
				e = expr.Add(old, e)
			} else {
				e = expr.Add(e, old)
			}
		}
		axes[a] = e
	}
	for i, a := range s.Axes {
		if b := s.Type.Layout.BlockOf(i, len(s.Axes)); b > 0 && s.Type.Shape[i]%b != 0 {
			inside = expr.AllOf(inside, expr.LT(axes[a], expr.Index(s.Type.Shape[i])))
		}
	}
	return axes, index, inside
}

// physical rewrites loads of stages at logical indices into loads of buffers at physical ones.
type physical struct {
	l      *lowering
	ranges arith.Ranges
}

func (p physical) expr(e expr.Expr, facts arith.Facts) expr.Expr {
	switch e := e.(type) {
	case *expr.Select:
		cond := p.expr(e.Cond, facts)
		return &expr.Select{Cond: cond, A: p.expr(e.A, facts.And(cond)), B: p.expr(e.B, facts)}
	case *expr.Load:
		return p.load(e, facts)
	}
	return expr.MapChildren(e, func(c expr.Expr) expr.Expr { return p.expr(c, facts) })
}

func (p physical) load(e *expr.Load, facts arith.Facts) expr.Expr {
	s := e.From.(*te.Stage)
	index := make([]expr.Expr, len(e.Index))
	for i, x := range e.Index {
		x = p.ranges.SimplifyUnder(p.expr(x, facts), facts)
		n, readable := s.Type.Shape[i], s.Type.Shape[i]
		if b := s.Type.Layout.BlockOf(i, len(index)); b > 0 { // the lanes beyond are zeros that may be read
			readable = (n + b - 1) / b * b
		}
		if !facts.InRange(x, readable, p.ranges) {
			x = expr.Max(expr.Min(x, expr.Index(n-1)), expr.Index(0))
		}
		index[i] = x
	}
	var phys []expr.Expr
	for _, part := range s.Type.Layout.Parts(len(index)) {
		x := index[part.Axis]
		switch {
		case part.Inner:
			x = expr.Bin(expr.OpFloorMod, x, expr.Index(part.Block))
		case part.Block > 0:
			x = expr.Bin(expr.OpFloorDiv, x, expr.Index(part.Block))
		}
		phys = append(phys, p.ranges.Simplify(x))
	}
	var load expr.Expr = &expr.Load{From: p.l.buffers[s], Index: phys}
	if b := p.l.buffers[s]; s.Body != nil && b.DType != s.Type.DType && s.Type.DType.Compute() != b.DType {
		panic(fmt.Sprintf("lower: %s has type %s", s.Name, b.DType))
	}
	return load
}

// Bytes is what the kernel's parameters occupy in memory: the least it must read and write.
func (k *Kernel) Bytes() int {
	n := 0
	for _, p := range k.Params {
		n += p.Type.Bytes()
	}
	return n
}

// Flops counts the arithmetic of all stages.
func (k *Kernel) Flops() float64 {
	total := 0.0
	for _, s := range k.Stages {
		total += s.Flops()
	}
	return total
}
