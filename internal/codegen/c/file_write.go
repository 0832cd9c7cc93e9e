package c

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/internal/types"
)

// Write writes the source. It compiles by itself: what WriteHeader writes is part of it.
func (f *File) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	n := f.names()
	comment(b, f.Head)
	b.WriteString(notes)
	f.declarations(b, n)
	b.WriteString(checks)
	if f.uses(types.F64) {
		b.WriteString("_Static_assert(sizeof(double) == 8, \"double has 64 bits\");\n")
	}
	f.weights(b, n)
	var support []string
	for _, k := range f.Kernels {
		support = append(support, k.Support...)
	}
	b.WriteString(Support(support))
	for i, k := range f.Kernels {
		b.WriteByte('\n')
		comment(b, k.Comment)
		head, body, _ := strings.Cut(strings.Replace(k.Text, SymbolMark, n.kernels[i], 1), "\n")
		b.WriteString(broken(head, 4) + "\n" + body)
	}
	for _, r := range f.Regions {
		b.WriteByte('\n')
		comment(b, []string{r.Comment})
		b.WriteString(strings.TrimRight(r.Text, "\n") + "\n")
	}
	f.entry(b, n)
	return b.Flush()
}

// WriteHeader writes the declarations, for a file NAME.h beside the source.
func (f *File) WriteHeader(w io.Writer) error {
	b := bufio.NewWriter(w)
	comment(b, f.Head)
	f.declarations(b, f.names())
	return b.Flush()
}

// declarations writes what a caller sees.
func (f *File) declarations(b *bufio.Writer, n fileNames) {
	guard := f.macro("H")
	fmt.Fprintf(b, "#ifndef %s\n#define %s\n#include <stdint.h>\n\n", guard, guard)
	for i, t := range slices.Concat(f.Inputs, f.Outputs) {
		role := "input"
		if i >= len(f.Inputs) {
			role = "output"
		}
		dims := make([]string, len(t.Shape))
		for k, d := range t.Shape {
			dims[k] = fmt.Sprint(d)
			if t.Extents != nil && t.Extents[k] >= 0 {
				dims[k] = fmt.Sprintf("%s <= %d", n.symbols[t.Extents[k]], d)
			}
		}
		comment(b, []string{fmt.Sprintf("%s %s: %s [%s], row-major%s", role, printable(t.Name), t.DType, strings.Join(dims, ", "), storage[t.DType])})
		fmt.Fprintf(b, "#define %s_ELEMENTS %d\n", n.macros[i], types.Count(t.Shape))
	}
	fmt.Fprintf(b, "// memory that a run needs, aligned to %d bytes\n#define %s %d\n", Align, f.macro("workspace_bytes"), f.Workspace)
	b.WriteString("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n")
	comment(b, []string{"Runs the network once, in a static workspace: one call at a time. " + f.returns() + " Inputs and outputs do not overlap."})
	b.WriteString(f.prototype(n, f.function(), nil) + ";\n\n")
	comment(b, []string{"Runs the network in a workspace of the caller's, whatever is in it. Returns -1 where that is not aligned."})
	b.WriteString(f.prototype(n, f.function()+"_in", []string{"void *workspace"}) + ";\n\n")
	b.WriteString("#ifdef __cplusplus\n}\n#endif\n#endif\n")
}

func (f *File) prototype(n fileNames, name string, params []string) string {
	for i, t := range f.Inputs {
		params = append(params, fmt.Sprintf("const %s *%s", memType(t.DType), n.inputs[i]))
	}
	for i, t := range f.Outputs {
		params = append(params, fmt.Sprintf("%s *%s", memType(t.DType), n.outputs[i]))
	}
	for _, s := range n.symbols {
		params = append(params, "int64_t *"+s)
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return broken(fmt.Sprintf("int32_t %s(%s)", name, strings.Join(params, ", ")), 4)
}

// entry writes the functions that the caller sees.
func (f *File) entry(b *bufio.Writer, n fileNames) {
	fmt.Fprintf(b, "\n%s {\n", f.prototype(n, f.function()+"_in", []string{"void *workspace"}))
	if f.Workspace > 0 {
		fmt.Fprintf(b, "  unsigned char *const memory = workspace;\n  if ((uintptr_t)workspace %% %d != 0) return -1;\n", Align)
	} else {
		b.WriteString("  (void)workspace;\n")
	}
	if f.bounded() {
		b.WriteString("  int32_t status = 0;\n")
	}
	e := &entryWriter{File: f, Writer: b, used: map[Place]bool{}}
	e.calls(f.Calls, n, "  ")
	void := func(kind PlaceKind, names []string) {
		for i, name := range names {
			if !e.used[Place{Kind: kind, Index: i}] {
				fmt.Fprintf(b, "  (void)%s;\n", name)
			}
		}
	}
	void(Input, n.inputs)
	void(Output, n.outputs)
	void(Symbol, n.symbols)
	if f.bounded() {
		b.WriteString("  return status;\n}\n")
	} else {
		b.WriteString("  return 0;\n}\n")
	}
	fmt.Fprintf(b, "\n#ifndef LATHE_CALLER_WORKSPACE\n")
	workspace := "0"
	if f.Workspace > 0 {
		workspace = "workspace"
		fmt.Fprintf(b, "static _Alignas(%d) unsigned char workspace[%s] LATHE_WORKSPACE_ATTRIBUTE;\n\n", Align, f.macro("workspace_bytes"))
	}
	args := slices.Concat([]string{workspace}, n.inputs, n.outputs, n.symbols)
	fmt.Fprintf(b, "%s {\n%s\n}\n#endif\n", f.prototype(n, f.function(), nil),
		broken(fmt.Sprintf("  return %s_in(%s);", f.function(), strings.Join(args, ", ")), 6))
}

// argument is a place as the argument of a kernel.
func (f *File) argument(n fileNames, p Place) string {
	switch p.Kind {
	case Input:
		return n.inputs[p.Index]
	case Output:
		return n.outputs[p.Index]
	case Symbol:
		return n.symbols[p.Index]
	case WeightOf:
		return f.Weights[p.Index].reference(n.weights[p.Index])
	}
	typ := memType(p.DType) + " *"
	if p.Const {
		typ = "const " + typ
	}
	if p.Index == 0 {
		return fmt.Sprintf("(%s)memory", typ)
	}
	return fmt.Sprintf("(%s)(memory + %d)", typ, p.Index)
}

// uses reports whether some tensor has elements of type t, or some kernel computes with them.
func (f *File) uses(t types.DType) bool {
	has := slices.ContainsFunc(f.Weights, func(w Weight) bool { return w.DType == t }) ||
		slices.ContainsFunc(slices.Concat(f.Inputs, f.Outputs), func(x Tensor) bool { return x.DType == t })
	for _, k := range f.Kernels {
		has = has || strings.Contains(k.Text, memType(t)) || slices.ContainsFunc(k.Support, func(s string) bool { return strings.Contains(s, short[t]) })
	}
	return has
}

// comment writes lines of text.
func comment(b *bufio.Writer, lines []string) {
	for _, l := range lines {
		indented(b, "", l)
	}
}

// indented writes a line of text as a comment, broken at blanks.
func indented(b *bufio.Writer, indent, text string) {
	l := indent + "// " + printable(text)
	for len(l) > maxColumns {
		at := strings.LastIndexByte(l[:maxColumns+1], ' ')
		if at < maxColumns/2 {
			break
		}
		b.WriteString(strings.TrimRight(l[:at], " ") + "\n")
		l = indent + "//   " + l[at+1:]
	}
	b.WriteString(strings.TrimRight(l, " ") + "\n")
}

// printable is text for a comment: it can neither end one nor go on in the next line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\\' || r == '?' || r == 0x2028 || r == 0x2029 {
			return '_'
		}
		return r
	}, s)
}
