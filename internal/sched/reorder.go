package sched

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Reorder permutes perfectly nested loops: the places they occupy are filled in the given order.
//
//	for i { for j { for k { S } } }, reorder k i  →  for k { for j { for i { S } } }
func (s *Schedule) Reorder(names ...string) error {
	if len(names) < 2 {
		return nil
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("reorder: %q is named twice", n)
		}
	}
	// The outermost of the named loops starts the chain.
	var top *loop.For
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if f, ok := t.(*loop.For); ok && top == nil && slices.Contains(names, f.Var.Name) {
			top = f
		}
		return top == nil
	})
	if top == nil {
		return fmt.Errorf("reorder: no loop %q", names[0])
	}
	var chain []*loop.For
	last := -1
	for f := top; ; {
		chain = append(chain, f)
		if slices.Contains(names, f.Var.Name) {
			last = len(chain)
		}
		g, ok := f.Body.(*loop.For)
		if !ok {
			break
		}
		f = g
	}
	chain = chain[:last]
	byName := map[string]*loop.For{}
	for _, f := range chain {
		byName[f.Var.Name] = f
	}
	for _, n := range names {
		if byName[n] == nil {
			return fmt.Errorf("reorder: %q is not in one perfect nest with %q", n, top.Var.Name)
		}
	}
	order := make([]*loop.For, len(chain))
	next := 0
	for i, f := range chain {
		order[i] = f
		if slices.Contains(names, f.Var.Name) {
			order[i] = byName[names[next]]
			next++
		}
	}
	for i, f := range order {
		for _, g := range order[i+1:] {
			if g.Kind == loop.Parallel && f.Kind != loop.Parallel {
				return fmt.Errorf("reorder: parallel loop %s would be inside loop %s", g.Var.Name, f.Var.Name)
			}
			if expr.Uses(f.Min, g.Var) || expr.Uses(f.Extent, g.Var) {
				return fmt.Errorf("reorder: the bounds of %s depend on %s", f.Var.Name, g.Var.Name)
			}
		}
	}
	body := chain[len(chain)-1].Body
	for _, f := range slices.Backward(order) {
		body = &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: body}
	}
	s.replace(top, body)
	s.log("reorder", names[0], 0, names[1:]...)
	return nil
}
