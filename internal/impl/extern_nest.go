package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// This file is the vocabulary extern implementations are written in. Conditions must not load what the statements under
// them store: a loaded value is bound first, because a condition counts as a fact about its operands.

// param is a parameter of a kernel, dense.
func param(name string, t types.DType, shape ...int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: shape, Align: 64}
}

// scratch is a buffer of one worker.
func scratch(name string, t types.DType, shape ...int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: shape, Scope: loop.Worker}
}

// register is a buffer of one vector register, or of one scalar when lanes is 1.
func register(name string, t types.DType, lanes int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: []int{lanes}, Scope: loop.Reg}
}

// moved is the type elements that are only moved are handled in: bits, so that nothing is converted.
func moved(t types.DType) types.DType {
	switch t {
	case types.Bool:
		return types.U8
	case types.F16, types.BF16:
		return types.U16
	}
	return t
}

// around splits a shape at an axis: the elements before it, along it and behind it.
func around(shape []int, axis int) (outer, n, inner int) {
	return types.Count(shape[:axis]), shape[axis], types.Count(shape[axis+1:])
}

func num(v int) expr.Expr { return expr.Index(v) }

func get(b *loop.Buffer, index ...expr.Expr) expr.Expr { return &expr.Load{From: b, Index: index} }

func set(b *loop.Buffer, v expr.Expr, index ...expr.Expr) loop.Stmt {
	return &loop.Store{To: b, Index: index, Value: v}
}

// do runs statements in order.
func do(list ...loop.Stmt) loop.Stmt { return &loop.Seq{List: list} }

// with allocates buffers around a statement.
func with(body loop.Stmt, buffers ...*loop.Buffer) loop.Stmt {
	for _, b := range buffers {
		body = &loop.Alloc{Buffer: b, Body: body}
	}
	return body
}

// loopOver is a loop of some kind from lo on.
func loopOver(kind loop.Kind, name string, lo, n expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	v := expr.NewVar(name)
	return &loop.For{Var: v, Min: lo, Extent: n, Kind: kind, Body: body(v)}
}

// each is a serial loop over [0, n).
func each(name string, n expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	return loopOver(loop.Serial, name, num(0), n, body)
}

// divided is a loop over [0, n) whose iterations are divided among the workers if there are some, and enough work: the
// number of scalar operations of all iterations.
func divided(name string, n int, work float64, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	kind := loop.Serial
	if n > 1 && work >= parallelWork {
		kind = loop.Parallel
	}
	return loopOver(kind, name, num(0), num(n), body)
}

// bind evaluates e once.
func bind(name string, e expr.Expr, body func(x expr.Expr) loop.Stmt) loop.Stmt {
	v := &expr.Var{Name: name, Type: e.DType()}
	return &loop.Let{Var: v, Value: e, Body: body(v)}
}

// when runs statements where cond holds.
func when(cond expr.Expr, list ...loop.Stmt) loop.Stmt {
	return &loop.If{Cond: cond, Then: do(list...)}
}

// runLanes is the number of elements that vector loops over contiguous elements of a type take at a time.
func runLanes(t types.DType) int { return max(8, 64/t.Compute().Size()) }

// run calls body for the elements [0, n) of a contiguous run, in vectors and a rest.
func run(name string, t types.DType, n int, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	lanes := runLanes(t)
	whole := each(name, num(n/lanes), func(i expr.Expr) loop.Stmt {
		return loopOver(loop.Vector, name+"v", num(0), num(lanes), func(v expr.Expr) loop.Stmt {
			return body(expr.Add(expr.Mul(i, num(lanes)), v))
		})
	})
	if n%lanes == 0 {
		return whole
	}
	rest := loopOver(loop.Vector, name+"r", num(0), num(n%lanes), func(v expr.Expr) loop.Stmt {
		return body(expr.Add(num(n-n%lanes), v))
	})
	return do(whole, rest)
}
