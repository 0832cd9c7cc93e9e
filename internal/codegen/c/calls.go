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
		if c.Loop != nil {
			e.loop(c.Loop, n, indent)
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
	e.line(indent, "for (int32_t %s = 0; %s < %d; %s++) {", i, i, l.Trips, i)
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
}

// bind declares pointers to what an iteration reads or writes, where the loop's own names are those in n.
func (e *entryWriter) bind(bounds []Bound, reads bool, n fileNames, i, indent string) (names []string) {
	for _, b := range bounds {
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

// read notes the inputs and outputs that calls are given.
func read(calls []Call, used map[Place]bool) {
	for _, c := range calls {
		places := c.Args
		if c.Loop != nil {
			for _, b := range slices.Concat(c.Loop.Inputs, c.Loop.Outputs) {
				places = append(places, b.First, b.Even, b.Odd)
			}
		}
		for _, p := range places {
			used[Place{Kind: p.Kind, Index: p.Index}] = true
		}
	}
}
