// Package build is the vocabulary in which kernels are written directly in loop IR. Conditions must not load what the
// statements under them store: a loaded value is bound first, because a condition counts as a fact about its operands.
package build

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// Param is a parameter of a kernel, dense.
func Param(name string, t types.DType, shape ...int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: shape, Align: 64}
}

// Scratch is a buffer of one worker.
func Scratch(name string, t types.DType, shape ...int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: shape, Scope: loop.Worker}
}

// Register is a buffer of one vector register, or of one scalar when lanes is 1.
func Register(name string, t types.DType, lanes int) *loop.Buffer {
	return &loop.Buffer{Name: name, DType: t, Shape: []int{lanes}, Scope: loop.Reg}
}

// Get loads an element.
func Get(b *loop.Buffer, index ...expr.Expr) expr.Expr { return &expr.Load{From: b, Index: index} }

// Set stores an element.
func Set(b *loop.Buffer, v expr.Expr, index ...expr.Expr) loop.Stmt {
	return &loop.Store{To: b, Index: index, Value: v}
}

// Do runs statements in order.
func Do(list ...loop.Stmt) loop.Stmt { return &loop.Seq{List: list} }

// With allocates buffers around a statement.
func With(body loop.Stmt, buffers ...*loop.Buffer) loop.Stmt {
	for _, b := range buffers {
		body = &loop.Alloc{Buffer: b, Body: body}
	}
	return body
}

// Loop is a loop of some kind over [lo, lo+n).
func Loop(kind loop.Kind, name string, lo, n expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	v := expr.NewVar(name)
	return &loop.For{Var: v, Min: lo, Extent: n, Kind: kind, Body: body(v)}
}

// Each is a serial loop over [0, n).
func Each(name string, n expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	return Loop(loop.Serial, name, expr.Index(0), n, body)
}

// Bind evaluates e once.
func Bind(name string, e expr.Expr, body func(x expr.Expr) loop.Stmt) loop.Stmt {
	v := &expr.Var{Name: name, Type: e.DType()}
	return &loop.Let{Var: v, Value: e, Body: body(v)}
}

// When runs statements where cond holds.
func When(cond expr.Expr, list ...loop.Stmt) loop.Stmt {
	return &loop.If{Cond: cond, Then: Do(list...)}
}

// Lanes is the number of elements that vector loops over contiguous elements of a type take at a time.
func Lanes(t types.DType) int { return max(8, 64/t.Compute().Size()) }

// Run calls body for the elements [0, n) of a contiguous run, in vectors and a rest.
func Run(name string, t types.DType, n int, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	lanes := Lanes(t)
	whole := Each(name, expr.Index(n/lanes), func(i expr.Expr) loop.Stmt {
		return Loop(loop.Vector, name+"v", expr.Index(0), expr.Index(lanes), func(v expr.Expr) loop.Stmt {
			return body(expr.Add(expr.Mul(i, expr.Index(lanes)), v))
		})
	})
	if n%lanes == 0 {
		return whole
	}
	rest := Loop(loop.Vector, name+"r", expr.Index(0), expr.Index(n%lanes), func(v expr.Expr) loop.Stmt {
		return body(expr.Add(expr.Index(n-n%lanes), v))
	})
	return Do(whole, rest)
}

// RunWithin is Run for the elements of [from, to), which are bounds in [0, n], and for others in the same vectors.
func RunWithin(name string, t types.DType, n int, from, to expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	lanes := Lanes(t)
	vector := func(first expr.Expr, lanes int) loop.Stmt {
		return Loop(loop.Vector, name+"v", expr.Index(0), expr.Index(lanes), func(v expr.Expr) loop.Stmt { return body(expr.Add(first, v)) })
	}
	at := func(x expr.Expr) expr.Expr { return expr.Bin(expr.OpFloorDiv, x, expr.Index(lanes)) }
	end := expr.Min(expr.Index(n/lanes), at(expr.Add(to, expr.Index(lanes-1))))
	whole := Bind(name+"b", at(from), func(first expr.Expr) loop.Stmt {
		return Loop(loop.Serial, name, first, expr.Sub(end, first), func(i expr.Expr) loop.Stmt { return vector(expr.Mul(i, expr.Index(lanes)), lanes) })
	})
	rest := n % lanes
	if rest == 0 {
		return whole
	}
	return Do(whole, &loop.If{Cond: expr.LT(expr.Index(n-rest), to), Then: vector(expr.Index(n-rest), rest)})
}
