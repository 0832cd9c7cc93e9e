package torch

import (
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// Conditions and loops that depend on data become those of the graph. What their bodies give are the variables that they assign, as
// tensors; they may not change anything else, for that would happen in every case.

// assigned lists the names that statements give values to, in order.
func assigned(names []string, body []statement) []string {
	var target func(x expression)
	target = func(x expression) {
		switch t := x.(type) {
		case *nameExpr:
			if !slices.Contains(names, t.name) {
				names = append(names, t.name)
			}
		case *tupleExpr:
			for _, x := range t.items {
				target(x)
			}
		}
	}
	for _, s := range body {
		switch s := s.(type) {
		case *assignStmt:
			for _, x := range s.targets {
				target(x)
			}
		case *ifStmt:
			names = assigned(assigned(names, s.yes), s.no)
		case *forStmt:
			target(s.target)
			names = assigned(names, s.body)
		case *whileStmt:
			names = assigned(names, s.body)
		case *withStmt:
			names = assigned(names, s.body)
		}
	}
	return names
}

// raises reports whether statements end in an exception.
func raises(body []statement) bool {
	return slices.ContainsFunc(body, func(s statement) bool {
		switch s := s.(type) {
		case *raiseStmt:
			return true
		case *exprStmt:
			if call, ok := s.value.(*callExpr); ok {
				at, ok := call.function.(*attrExpr)
				return ok && at.name == "RaiseException"
			}
		}
		return false
	})
}

// flatten appends the tensors and numbers in v to out. What it returns builds a value of the same form of others.
func (m *machine) flatten(v value, out *[]*graph.Value, depth int) (build func(next func() *graph.Value) value) {
	if depth > 20 {
		fail("values are nested too deep")
	}
	switch x := v.(type) {
	case *tensor:
		*out = append(*out, m.get(x))
		if x.number {
			return func(next func() *graph.Value) value { return m.scalarOf(next()) }
		}
		return func(next func() *graph.Value) value {
			t := m.fresh(next())
			t.quant, t.complex = x.quant, x.complex
			return t
		}
	case bool, int64, float64:
		g := literal(x)
		*out = append(*out, g)
		return func(next func() *graph.Value) value {
			if y := next(); y != g {
				return m.scalarOf(y)
			}
			return v
		}
	case tuple:
		return m.flattenItems(x, out, depth, func(all []value) value { return tuple(all) })
	case *list:
		return m.flattenItems(x.items, out, depth, func(all []value) value { m.births++; return &list{items: all, born: m.births} })
	}
	return func(func() *graph.Value) value { return v }
}

func (m *machine) flattenItems(all []value, out *[]*graph.Value, depth int, make func(all []value) value) func(next func() *graph.Value) value {
	var builds []func(next func() *graph.Value) value
	for _, v := range all {
		builds = append(builds, m.flatten(v, out, depth+1))
	}
	return func(next func() *graph.Value) value {
		var got []value
		for _, b := range builds {
			got = append(got, b(next))
		}
		return make(got)
	}
}

// inRegion runs f as code that the data decide about: it may not change what lies outside of it.
func (m *machine) inRegion(f func()) {
	before := m.region
	m.region = m.births + 1
	f()
	m.region = before
}

// either runs an if statement whose condition depends on data. A branch that only raises an exception is a check, which is left out.
func (m *machine) either(f *frame, s *ifStmt, condition *tensor) {
	where := m.place
	for _, branch := range []struct{ check, rest []statement }{{s.yes, s.no}, {s.no, s.yes}} {
		if raises(branch.check) {
			m.Note("%s:%d: a check of data is left out", where.file, where.line)
			m.run(f, branch.rest)
			return
		}
	}
	names := assigned(assigned(nil, s.yes), s.no)
	var kept []string
	var builds map[string]func(next func() *graph.Value) value
	region := m.region
	way := func(body []statement) func() []*graph.Value {
		return func() []*graph.Value {
			m.region, m.place = region, where
			restore := f.snapshot()
			defer restore()
			var out []*graph.Value
			m.inRegion(func() {
				m.run(f, body)
				if f.done {
					f.done = false
					fail("a function returns where the data decide whether it does, which is not supported")
				}
				kept, builds = kept[:0], map[string]func(next func() *graph.Value) value{}
				for _, name := range names {
					if v, ok := f.vars[name]; ok && m.everywhere(name, f, s) {
						kept = append(kept, name)
						builds[name] = m.flatten(v, &out, 0)
					}
				}
			})
			return out
		}
	}
	c := m.Cast(m.get(condition), types.Bool)
	results := m.Either(c, way(s.yes), way(s.no))
	m.region, m.place = region, where
	next := func() *graph.Value {
		v := results[0]
		results = results[1:]
		return v
	}
	for _, name := range kept {
		f.vars[name] = builds[name](next)
	}
}

// everywhere reports whether a name has a value behind both branches.
func (m *machine) everywhere(name string, f *frame, s *ifStmt) bool {
	return slices.Contains(assigned(nil, s.yes), name) && slices.Contains(assigned(nil, s.no), name)
}

// until runs the rest of a while loop, whose condition depends on data.
func (m *machine) until(f *frame, s *whileStmt, condition *graph.Value) {
	m.loop(f, s.body, frontend.Loop{Condition: m.Cast(condition, types.Bool)}, nil, func() *graph.Value {
		v := m.eval(f, s.condition)
		if t, ok := v.(*tensor); ok {
			return m.Cast(m.get(t), types.Bool)
		}
		yes, _ := m.truth(v)
		return literal(yes)
	})
}

// count runs a for loop over a range whose length depends on data.
func (m *machine) count(f *frame, s *forStmt, trips *graph.Value) {
	m.loop(f, s.body, frontend.Loop{Trips: trips, Counts: true}, func(i *graph.Value) { m.assign(f, s.target, m.scalarOf(i)) },
		func() *graph.Value { return literal(true) })
}

// repeat runs a for loop over a known range as a loop of the graph, and reports whether it could: not where numbers are carried, which
// decide shapes behind it, nor where lists grow or code needs to know the iteration.
func (m *machine) repeat(f *frame, s *forStmt, trips int) bool {
	if !m.Loops(trips) {
		return false
	}
	for _, name := range assigned(nil, s.body) {
		if v, ok := f.vars[name]; ok && holdsNumbers(v, 0) {
			return false
		}
	}
	where, region, steps := m.place, m.region, m.steps
	restore := f.snapshot()
	l := frontend.Loop{}
	bind := m.carrying(f, s.body, &l, func(i *graph.Value) { m.assign(f, s.target, m.scalarOf(i)) }, func() *graph.Value { return literal(true) })
	n := len(l.Carried)
	out, ok := m.Region(graph.LoopAttrs{Trips: trips, Carried: n, Sequences: 1}, append(slices.Clone(l.Carried), m.Arange(trips)), func(in []*graph.Value) []*graph.Value {
		return l.Body(append([]*graph.Value{in[n], literal(true)}, in[:n]...))[1:]
	})
	m.place, m.region = where, region
	if !ok {
		m.steps, f.done = steps, false
		restore()
		return false
	}
	bind(out)
	return true
}

// holdsNumbers reports whether a value is a number, or a list or tuple with one.
func holdsNumbers(v value, depth int) bool {
	switch x := v.(type) {
	case *tensor:
		return x.number
	case nil:
		return false
	case tuple:
		return depth > 20 || slices.ContainsFunc(x, func(v value) bool { return holdsNumbers(v, depth+1) })
	case *list:
		return depth > 20 || slices.ContainsFunc(x.items, func(v value) bool { return holdsNumbers(v, depth+1) })
	}
	return true
}

// loop runs a loop of the graph that carries the variables which its body assigns.
func (m *machine) loop(f *frame, body []statement, l frontend.Loop, first func(i *graph.Value), again func() *graph.Value) {
	where, region := m.place, m.region
	bind := m.carrying(f, body, &l, first, again)
	results := m.RunLoop(l)
	m.region, m.place = region, where
	bind(results)
}

// carrying gives a loop its body and what it carries: the variables which the statements assign. What it returns takes their last values.
func (m *machine) carrying(f *frame, body []statement, l *frontend.Loop, first func(i *graph.Value), again func() *graph.Value) (bind func(in []*graph.Value)) {
	where, region := m.place, m.region
	var names []string
	for _, name := range assigned(nil, body) {
		if _, ok := f.vars[name]; ok {
			names = append(names, name)
		}
	}
	var form tuple
	for _, name := range names {
		form = append(form, f.vars[name])
	}
	build := m.flatten(form, &l.Carried, 0)
	bind = func(in []*graph.Value) {
		next := func() *graph.Value {
			v := in[0]
			in = in[1:]
			return v
		}
		for i, v := range build(next).(tuple) {
			f.vars[names[i]] = v
		}
	}
	l.Body = func(in []*graph.Value) (out []*graph.Value) {
		m.region, m.place = region, where
		restore := f.snapshot()
		defer restore()
		m.inRegion(func() {
			bind(in[2:])
			if first != nil {
				first(in[0])
			}
			m.run(f, body)
			if f.done {
				f.done = false
				fail("a function returns within a loop that the data end, which is not supported")
			}
			out = append(out, again())
			for _, name := range names {
				m.flatten(f.vars[name], &out, 0)
			}
		})
		if len(out) != len(l.Carried)+1 {
			fail("a variable is another kind of value behind an iteration of a loop that the data end, which is not supported")
		}
		for i, v := range out[1:] {
			if t := l.Carried[i].Type; v.Type.DType != t.DType && v.Type.Rank() == 0 && t.Rank() == 0 {
				out[i+1] = m.Cast(v, t.DType)
			}
		}
		return out
	}
	return bind
}
