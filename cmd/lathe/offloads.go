package main

import (
	"fmt"
	"io"
	"strings"

	"lathe"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/excerpt"
)

// dumpOffloads writes who computes which node, in tvmc's form, to a file or, for "-", to standard output.
func (a *app) dumpOffloads(pkg *lathe.Package, to string) error {
	list := pkg.Offloads()
	if to == "-" {
		return writeOffloads(a.Out, list)
	}
	return cli.WriteFile(to, func(w io.Writer) error { return writeOffloads(w, list) })
}

// generic is tvmc's name of what is in no region.
const generic = "generic"

func writeOffloads(w io.Writer, list []lathe.Offload) error {
	var b strings.Builder
	var generators []string
	count, width := map[string]int{}, len(generic)
	for _, o := range list {
		if o.Generator != "" && count[o.Generator] == 0 {
			generators = append(generators, o.Generator)
			width = max(width, len(o.Generator))
		}
		count[o.Generator]++
	}
	fmt.Fprintf(&b, "Total number of operators and distribution by targets\nTotal: %d\n", len(list))
	for _, name := range generators {
		fmt.Fprintf(&b, "%s: %d\n", name, count[name])
	}
	fmt.Fprintf(&b, "%s: %d\n\n", generic, count[""])
	last := lathe.Offload{}
	for _, o := range list {
		begin := fmt.Sprintf("%-*s <- ", width, o.Generator)
		node := o.Operator + " " + excerpt.Line(strings.Join(o.Nodes, "+"))
		switch {
		case o.Composite != "":
			if last.Number != o.Number {
				fmt.Fprintf(&b, "%s%s\n", begin, o.Composite)
			}
			node = "  " + node
		case o.Generator == "":
			for _, r := range o.Refusals {
				node += fmt.Sprintf(" (%s: %s)", r.Generator, r.Reason)
			}
		}
		fmt.Fprintf(&b, "%s%s\n", begin, node)
		last = o
	}
	_, err := io.WriteString(w, b.String())
	return err
}
