package c

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/expr"
	"lathe/internal/intrin"
	"lathe/internal/types"
)

// expansions are the functions that package intrin writes as arithmetic, by name: exp_f32 and the like.
var expansions = func() map[string]expr.Expr {
	m := map[string]expr.Expr{}
	for _, t := range floatTypes {
		x, y := &expr.Var{Name: "x", Type: t}, &expr.Var{Name: "y", Type: t}
		for _, f := range expr.Fns() {
			if call := expr.Call(f, x); f.Takes(t) && intrin.Expand(call, false) != call {
				m[f.String()+"_"+short[t]] = call
			}
		}
		for _, o := range expr.Ops() {
			if call := (&expr.Binary{Op: o, A: x, B: y}); o.Takes(t) && intrin.Expand(call, false) != expr.Expr(call) {
				m[supportOps[o]+"_"+short[t]] = call
			}
		}
	}
	return m
}()

// expansion writes the function of a name in expansions. Values that the expansion binds are variables: they are rounded
// to their type there.
func expansion(name string) support {
	call := expansions[name]
	e := newEmitter()
	e.depth = 1
	var params []string
	for _, a := range expr.Children(call) {
		v := a.(*expr.Var)
		e.env[v] = value{s: e.names.fresh(v.Name), prec: atom}
		params = append(params, memType(v.Type)+" "+e.env[v].s)
	}
	v := e.expr(intrin.Expand(call, false))
	e.line("return %s;", v.s)
	return support{name: name, needs: slices.Sorted(maps.Keys(e.support)),
		text: fmt.Sprintf("\nstatic inline %s %s(%s) {\n%s}", memType(call.DType()), name, strings.Join(params, ", "), withoutUnused(e.out.String(), e.lets, e.uses))}
}

// Support is the text of the named support functions and of what they call.
func Support(names []string) string {
	taken, bodies := map[string]bool{}, map[string]support{}
	var take func(names []string)
	var extra []string
	take = func(names []string) {
		for _, n := range names {
			if taken[n] {
				continue
			}
			taken[n] = true
			if expansions[n] != nil {
				bodies[n] = expansion(n)
				take(bodies[n].needs)
				extra = append(extra, n) // behind what it needs
				continue
			}
			i := slices.IndexFunc(supports, func(s support) bool { return s.name == n })
			if i < 0 {
				panic("c: no support function is named " + n)
			}
			take(supports[i].needs)
		}
	}
	take(slices.Sorted(slices.Values(names)))
	var b strings.Builder
	for _, s := range supports {
		if taken[s.name] {
			b.WriteString(s.text + "\n")
		}
	}
	for _, n := range extra {
		b.WriteString(bodies[n].text + "\n")
	}
	return b.String()
}

// isFloat16 reports whether t is a float whose elements are kept as their bits.
func isFloat16(t types.DType) bool { return t == types.F16 || t == types.BF16 }
