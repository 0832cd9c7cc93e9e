// Package sched rewrites loop IR: each schedule primitive is one file, checks that it is legal, and leaves a step in the
// trace. Loops are named by their variable, blocks by their stage. A trace is JSON-stable and can be applied again.
package sched

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// A Schedule is a kernel being rewritten.
type Schedule struct {
	Func  *loop.Func
	Trace []Step
	axes  map[string]Axis // by loop; of loops that are gone too, whose names no other loop gets
}

// A Step is one applied primitive: its name, the loop or block it works on, and its arguments.
type Step struct {
	Op   string   `json:"op"`
	On   string   `json:"on"`
	Args []string `json:"args,omitempty"`
	N    int      `json:"n,omitempty"`
}

// New starts a schedule for f.
func New(f *loop.Func) *Schedule { return &Schedule{Func: f, axes: axesOf(f)} }

// Copy is s, to go on with in another way: primitives replace the function's body and change no statement.
func (s *Schedule) Copy() *Schedule {
	f := *s.Func
	return &Schedule{Func: &f, Trace: slices.Clone(s.Trace)}
}

func (s *Schedule) log(op, on string, n int, args ...string) {
	s.Trace = append(s.Trace, Step{Op: op, On: on, Args: args, N: n})
}

// String prints the trace, one step a line.
func (s *Schedule) String() string {
	var b strings.Builder
	for _, t := range s.Trace {
		fmt.Fprintf(&b, "%s %s", t.Op, t.On)
		if len(t.Args) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(t.Args, " "))
		}
		if t.N != 0 {
			fmt.Fprintf(&b, " %d", t.N)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// loop finds the loop over the named variable.
func (s *Schedule) loop(name string) (*loop.For, error) {
	var found *loop.For
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if f, ok := t.(*loop.For); ok && f.Var.Name == name {
			found = f
		}
		return found == nil
	})
	if found == nil {
		return nil, fmt.Errorf("no loop %q", name)
	}
	return found, nil
}

// block finds the named block and the loops around it, outermost first.
func (s *Schedule) block(name string) (*loop.Block, []*loop.For, error) {
	var found *loop.Block
	var around []*loop.For
	var visit func(t loop.Stmt, stack []*loop.For)
	visit = func(t loop.Stmt, stack []*loop.For) {
		switch t := t.(type) {
		case *loop.Seq:
			for _, u := range t.List {
				visit(u, stack)
			}
		case *loop.For:
			visit(t.Body, append(stack[:len(stack):len(stack)], t))
		case *loop.If:
			visit(t.Then, stack)
			if t.Else != nil {
				visit(t.Else, stack)
			}
		case *loop.Let:
			visit(t.Body, stack)
		case *loop.Alloc:
			visit(t.Body, stack)
		case *loop.Block:
			if t.Name == name && found == nil {
				found, around = t, stack
			}
		}
	}
	visit(s.Func.Body, nil)
	if found == nil {
		return nil, nil, fmt.Errorf("no block %q", name)
	}
	return found, around, nil
}

// position is where a nest has the loop of a name; -1 where it has none.
func position(nest []*loop.For, name string) int {
	return slices.IndexFunc(nest, func(f *loop.For) bool { return f.Var.Name == name })
}

// Loops returns the names of the loops around a block, outermost first; nil when there is no such block.
func (s *Schedule) Loops(block string) []string {
	_, around, err := s.block(block)
	if err != nil {
		return nil
	}
	names := make([]string, len(around))
	for i, f := range around {
		names[i] = f.Var.Name
	}
	return names
}

// Extent is the constant extent of a loop, or 0.
func (s *Schedule) Extent(name string) int {
	f, err := s.loop(name)
	if err != nil {
		return 0
	}
	n, _ := expr.IntOf(f.Extent)
	return int(n)
}

// replace puts t in the place of loop f.
func (s *Schedule) replace(f *loop.For, t loop.Stmt) {
	s.Func.Body = loop.Rewrite(s.Func.Body, func(u loop.Stmt) loop.Stmt {
		if u == loop.Stmt(f) {
			return t
		}
		return u
	})
}

// substLoop replaces a loop variable in the bindings, bounds and conditions of body, and adds to each block the
// condition that an iteration variable stays in its domain where the new binding may leave it.
func substLoop(body loop.Stmt, m map[*expr.Var]expr.Expr, ranges arith.Ranges) loop.Stmt {
	body = loop.Subst(body, m)
	return loop.Rewrite(body, func(t loop.Stmt) loop.Stmt {
		b, ok := t.(*loop.Block)
		if !ok {
			return t
		}
		c := *b
		c.Iters = append([]loop.Iter(nil), b.Iters...)
		inner := ranges
		for i := range c.Iters {
			c.Iters[i].Binding = inner.Simplify(c.Iters[i].Binding)
		}
		return &c
	})
}

// guardDomain adds to every block in body the conditions that keep its iteration variables inside their domains, where
// ranges do not prove it already.
func guardDomain(body loop.Stmt, ranges arith.Ranges) loop.Stmt {
	var visit func(t loop.Stmt, r arith.Ranges) loop.Stmt
	visit = func(t loop.Stmt, r arith.Ranges) loop.Stmt {
		switch t := t.(type) {
		case *loop.Seq:
			list := make([]loop.Stmt, len(t.List))
			for i, u := range t.List {
				list[i] = visit(u, r)
			}
			return &loop.Seq{List: list}
		case *loop.For:
			return &loop.For{Var: t.Var, Min: t.Min, Extent: t.Extent, Kind: t.Kind, Body: visit(t.Body, r.With(t.Var, rangeOf(t, r)))}
		case *loop.Alloc:
			return &loop.Alloc{Buffer: t.Buffer, Body: visit(t.Body, r)}
		case *loop.If:
			u := &loop.If{Cond: t.Cond, Then: visit(t.Then, r)}
			if t.Else != nil {
				u.Else = visit(t.Else, r)
			}
			return u
		case *loop.Let:
			return &loop.Let{Var: t.Var, Value: t.Value, Body: visit(t.Body, r)}
		case *loop.Block:
			b := *t
			var have []expr.Expr
			if b.Where != nil {
				have = arith.Conjuncts(b.Where)
			}
			for _, it := range b.Iters {
				i := r.Of(it.Binding)
				low, high := expr.GE(it.Var, expr.Index(0)), expr.LT(it.Var, expr.Index(it.Extent))
				if i.Lo < 0 && !arith.Among(have, low) {
					b.Where = expr.AllOf(b.Where, low)
				}
				if i.Hi >= int64(it.Extent) && !arith.Among(have, high) {
					b.Where = expr.AllOf(b.Where, high)
				}
			}
			return &b
		}
		return t
	}
	return visit(body, ranges)
}

// rangeOf is the range of a loop's variable.
func rangeOf(f *loop.For, r arith.Ranges) arith.Interval {
	return r.OfLoop(f.Min, f.Extent)
}

// rangesAt returns the ranges of the loop variables around loop or block position path.
func rangesAt(around []*loop.For) arith.Ranges {
	r := arith.Ranges{}
	for _, f := range around {
		r[f.Var] = rangeOf(f, r)
	}
	return r
}

// around returns the loops that contain f, outermost first, f itself last.
func (s *Schedule) around(f *loop.For) []*loop.For {
	var path []*loop.For
	var visit func(t loop.Stmt, stack []*loop.For) bool
	visit = func(t loop.Stmt, stack []*loop.For) bool {
		switch t := t.(type) {
		case *loop.Seq:
			for _, u := range t.List {
				if visit(u, stack) {
					return true
				}
			}
		case *loop.For:
			stack = append(stack[:len(stack):len(stack)], t)
			if t == f {
				path = stack
				return true
			}
			return visit(t.Body, stack)
		case *loop.Alloc:
			return visit(t.Body, stack)
		case *loop.Let:
			return visit(t.Body, stack)
		case *loop.If:
			return visit(t.Then, stack) || t.Else != nil && visit(t.Else, stack)
		}
		return false
	}
	visit(s.Func.Body, nil)
	return path
}

// Block returns the named block and the loops around it, outermost first; nil when there is none.
func (s *Schedule) Block(name string) (*loop.Block, []*loop.For) {
	b, around, err := s.block(name)
	if err != nil {
		return nil, nil
	}
	return b, around
}
