package c

import (
	"fmt"
	"slices"
)

// A While says what is to be done at the end of a loop that ends when its first input is false: the last values of the carried
// inputs go to their places, what is left of the slices becomes zero, and Count gets the number of iterations.
type While struct {
	Results  []Place // of the carried inputs
	Elements []int   // of these, then of the slices
	Count    Place
	Strict   bool // where there would be more iterations than Trips, that is an error
}

// statusBound is what a run returns in which a loop would have run more often than its bound.
const statusBound = 2

// bounded reports whether some loop may come to its bound.
func (f *File) bounded() bool { return hasBound(f.Calls) }

func hasBound(calls []Call) bool {
	within := func(l *Loop) bool { return l != nil && (l.While != nil && l.While.Strict || hasBound(l.Calls)) }
	return slices.ContainsFunc(calls, func(c Call) bool { return within(c.Loop) || within(c.Else) })
}

// returns says for people what a run returns.
func (f *File) returns() string {
	if f.bounded() {
		return fmt.Sprintf("Returns 0, or %d where a loop would have run more often than its bound.", statusBound)
	}
	return "Returns 0."
}

// finish writes what is to be done behind a loop that has run i times.
func (e *entryWriter) finish(l *Loop, n fileNames, i, indent string) {
	for k, elements := range l.While.Elements {
		at := n.all.fresh("element")
		if k < len(l.While.Results) {
			from, to := n.all.fresh("last"), n.all.fresh("result")
			typ := memType(l.Inputs[k].DType)
			e.line(indent, "const %s *%s = %s;", typ, from, e.from(l.Inputs[k], true, n, i))
			e.line(indent, "%s *%s = %s;", typ, to, e.place(n, l.While.Results[k]))
			e.line(indent, "for (int32_t %s = 0; %s != %s && %s < %d; %s++) %s[%s] = %s[%s];", at, from, to, at, elements, at, to, at, from, at)
			continue
		}
		out := l.Outputs[k]
		first := ""
		if out.Offset == 0 { // from the first slice on
			first = fmt.Sprintf("%s * %d + ", i, elements)
		}
		to := n.all.fresh("rest")
		e.line(indent, "%s *%s = %s;", memType(out.DType), to, e.from(out, false, n, i))
		e.line(indent, "for (int64_t %s = 0; %s < (%d - %s) * %d; %s++) %s[%s%s] = 0;", at, at, l.Trips, i, elements, at, to, first, at)
	}
	e.line(indent, "*%s = %s;", e.place(n, l.While.Count), i)
}
