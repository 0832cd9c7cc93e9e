package c

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/types"
)

// A Loop makes calls again and again. The operands of its calls that are inputs and outputs are those of its body.
type Loop struct {
	Trips           int
	Inputs, Outputs []Bound
	Calls           []Call
	While           *While
}

// A Bound is where an input or output of a body lies, outside of the loop: iteration i from 0 on finds it Offset + i*Step bytes from
// one of three places.
type Bound struct {
	Name         string
	DType        types.DType
	First        Place // in iteration 0
	Even, Odd    Place // in later ones
	Offset, Step int
}

// An entryWriter writes the calls of a network.
type entryWriter struct {
	*File
	*bufio.Writer
	used map[Place]bool // of what the caller gives
}

// calls writes calls whose inputs and outputs have the names in n.
func (e *entryWriter) calls(list []Call, n fileNames, indent string) {
	for _, c := range list {
		if c.Comment != "" {
			indented(e.Writer, indent, c.Comment)
		}
		if c.Else != nil {
			e.line(indent, "if (*%s != 0) {", e.place(n, c.Condition))
			e.loop(c.Loop, n, indent+"  ")
			e.line(indent, "} else {")
			e.loop(c.Else, n, indent+"  ")
			e.line(indent, "}")
			continue
		}
		if c.Loop != nil {
			e.loop(c.Loop, n, indent)
			continue
		}
		if c.Region != nil {
			e.region(c, n, indent)
			continue
		}
		var args []string
		for _, p := range c.Args {
			args = append(args, e.place(n, p))
		}
		for _, s := range e.Kernels[c.Kernel].Scratch {
			args = append(args, e.argument(n, Place{Index: c.Scratch + s.Offset, DType: s.DType}))
		}
		e.line(indent, "%s(%s);", n.kernels[c.Kernel], strings.Join(args, ", "))
	}
}

// region writes the call of a function of an external code generator.
func (e *entryWriter) region(c Call, n fileNames, indent string) {
	e.line(indent, "{")
	for _, list := range []struct {
		declared string
		places   []Place
	}{{"const void *const in[] = {%s};", c.In}, {"void *const out[] = {%s};", c.Out}} {
		var args []string
		for _, p := range list.places {
			args = append(args, e.place(n, p))
		}
		if args == nil {
			args = []string{"0"}
		}
		e.line(indent+"  ", list.declared, strings.Join(args, ", "))
	}
	e.line(indent+"  ", "%s(in, out, 0, 1);", c.Region.Symbol)
	e.line(indent, "}")
}

func (e *entryWriter) line(indent, format string, args ...any) {
	e.WriteString(broken(indent+fmt.Sprintf(format, args...), len(indent)+4) + "\n")
}

// place is a place as an argument.
func (e *entryWriter) place(n fileNames, p Place) string {
	if p.Kind == Symbol || !n.inLoop {
		e.used[Place{Kind: p.Kind, Index: p.Index}] = true
	}
	return e.argument(n, p)
}

// loop writes a loop, whose body has names of its own for what it reads and writes.
func (e *entryWriter) loop(l *Loop, n fileNames, indent string) {
	i := n.all.fresh("iteration")
	if l.While != nil {
		e.line(indent, "int64_t %s = 0;", i)
		e.line(indent, "for (; *(%s) != 0; %s++) {", e.from(l.Inputs[0], true, n, i), i)
		if l.Trips > 0 {
			e.line(indent+"  ", "if (%s == %d) {", i, l.Trips)
			if l.While.Strict {
				e.line(indent+"    ", "status = %d;", statusBound)
			}
			e.line(indent+"    ", "break;")
			e.line(indent+"  ", "}")
		}
	} else {
		e.line(indent, "for (int32_t %s = 0; %s < %d; %s++) {", i, i, l.Trips, i)
	}
	body := n
	body.inLoop = true
	body.inputs = e.bind(l.Inputs, true, n, i, indent+"  ")
	body.outputs = e.bind(l.Outputs, false, n, i, indent+"  ")
	used := map[Place]bool{}
	read(l.Calls, used)
	for k, name := range slices.Concat(body.inputs, body.outputs) {
		p := Place{Kind: Input, Index: k}
		if k >= len(body.inputs) {
			p = Place{Kind: Output, Index: k - len(body.inputs)}
		}
		if !used[p] {
			e.line(indent+"  ", "(void)%s;", name)
		}
	}
	e.calls(l.Calls, body, indent+"  ")
	e.line(indent, "}")
	if l.While != nil {
		e.finish(l, n, i, indent)
	}
}

// bind declares pointers to what an iteration reads or writes, where the loop's own names are those in n.
func (e *entryWriter) bind(bounds []Bound, reads bool, n fileNames, i, indent string) (names []string) {
	for _, b := range bounds {
		from := e.from(b, reads, n, i)
		switch size := b.DType.Size(); {
		case b.Step < 0:
			from = fmt.Sprintf("%s + (%d - %s * %d)", from, b.Offset/size, i, -b.Step/size)
		case b.Step > 0:
			from = fmt.Sprintf("%s + %s * %d", from, i, b.Step/size)
		}
		typ := memType(b.DType)
		if reads {
			typ = "const " + typ
		}
		names = append(names, n.all.fresh(b.Name))
		e.line(indent, "%s *%s = %s;", typ, names[len(names)-1], from)
	}
	return names
}

// from is where an input or output of iteration i lies, without what is to be added.
func (e *entryWriter) from(b Bound, reads bool, n fileNames, i string) string {
	at := func(p Place) string {
		p.DType, p.Const = b.DType, reads
		return e.place(n, p)
	}
	from := at(b.Even)
	if b.Odd != b.Even {
		from = fmt.Sprintf("%s %% 2 != 0 ? %s : %s", i, at(b.Odd), from)
	}
	if b.First != b.Even {
		from = fmt.Sprintf("%s == 0 ? %s : %s", i, at(b.First), from)
	}
	return from
}

// read notes the inputs and outputs that calls are given.
func read(calls []Call, used map[Place]bool) {
	for _, c := range calls {
		places := slices.Concat(c.Args, c.In, c.Out)
		if c.Else != nil {
			places = append(places, c.Condition)
		}
		for _, l := range []*Loop{c.Loop, c.Else} {
			if l == nil {
				continue
			}
			for _, b := range slices.Concat(l.Inputs, l.Outputs) {
				places = append(places, b.First, b.Even, b.Odd)
			}
			if l.While != nil {
				places = append(append(places, l.While.Count), l.While.Results...)
			}
		}
		for _, p := range places {
			used[Place{Kind: p.Kind, Index: p.Index}] = true
		}
	}
}
