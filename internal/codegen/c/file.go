package c

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/internal/types"
)

// A File is a network as one file of C source: weights, kernels and a function that runs them in order,
//
//	int32_t lathe_MODULE(const float *data, ..., float *probabilities, ...);
//
// with a parameter for every input, output and symbol. Nothing else is in the program: no library is called, no memory is
// allocated.
type File struct {
	Module    string
	Head      []string // what the comment at the top says of the network
	Inputs    []Tensor
	Outputs   []Tensor
	Symbols   []string // names of the extents that depend on data
	Weights   []Weight
	Kernels   []Kernel
	Calls     []Call
	Workspace int // bytes
}

// A Tensor is an input or output. Extents has the index of a symbol for each axis whose actual extent it holds, -1 for
// others; nil: all are fixed.
type Tensor struct {
	Name    string
	DType   types.DType
	Shape   []int
	Extents []int
}

// A Weight is a constant, as the kernels read it. Data are little-endian.
type Weight struct {
	Name    string
	Comment string
	DType   types.DType
	Data    []byte
}

// A Kernel is a function with what people want to know of it.
type Kernel struct {
	Name    string
	Comment []string
	Function
}

// A Call is a step of the network: a kernel, its operands, and where in the workspace its scratch begins; or a loop.
type Call struct {
	Kernel    int
	Comment   string
	Args      []Place
	Scratch   int
	Loop      *Loop
	Else      *Loop // nil, or what is run in place of Loop where the byte at Condition is zero
	Condition Place
}

// A Place is the memory of an operand: that of the input, output, weight or symbol of an index, or an offset in the
// workspace.
type Place struct {
	Kind  PlaceKind
	Index int
	DType types.DType
	Const bool // the kernel only reads it
}

// PlaceKind says what a Place is a piece of.
type PlaceKind uint8

// The kinds of places.
const (
	Workspace PlaceKind = iota
	Input
	Output
	WeightOf
	Symbol
)

// fileNames are the identifiers of a file.
type fileNames struct {
	inputs, outputs, symbols, weights, kernels []string
	macros                                     []string // of inputs, then outputs
	all                                        *scope
	inLoop                                     bool // inputs and outputs are those of a body
}

func (f *File) names() fileNames {
	s := newScope(nil)
	n := fileNames{all: s}
	for _, taken := range []string{"workspace", "memory", "status", f.function(), f.function() + "_in"} {
		s.taken[taken] = true
	}
	for _, i := range supports {
		s.taken[i.name] = true
	}
	for name := range expansions {
		s.taken[name] = true
	}
	for _, k := range f.Kernels {
		n.kernels = append(n.kernels, s.fresh(k.Name))
	}
	for _, t := range f.Inputs {
		n.inputs = append(n.inputs, s.fresh(t.Name))
	}
	for _, t := range f.Outputs {
		n.outputs = append(n.outputs, s.fresh(t.Name))
	}
	for _, t := range f.Symbols {
		n.symbols = append(n.symbols, s.fresh(t))
	}
	for _, w := range f.Weights {
		n.weights = append(n.weights, s.fresh(w.Name))
	}
	macros := newScope(nil) // differ in more than case
	for _, t := range slices.Concat(n.inputs, n.outputs) {
		n.macros = append(n.macros, f.macro(macros.fresh(strings.ToUpper(strings.TrimRight(t, "_")))))
	}
	return n
}

func (f *File) function() string { return "lathe_" + f.Module }

// macro is the name of a macro of the file.
func (f *File) macro(name string) string { return strings.ToUpper("lathe_" + f.Module + "_" + name) }

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
	f.entry(b, n)
	return b.Flush()
}

// SymbolMark stands for a kernel's name in its text, so that equal kernels have equal texts.
const SymbolMark = "LATHE_KERNEL"

// WriteHeader writes the declarations, for a file NAME.h beside the source.
func (f *File) WriteHeader(w io.Writer) error {
	b := bufio.NewWriter(w)
	comment(b, f.Head)
	f.declarations(b, f.names())
	return b.Flush()
}

const notes = `//
// Compile with any C11 compiler; no library is needed. Results have the same bits with every
// compiler that keeps to IEEE 754: -std=c11 or -ffp-contract=off for gcc, and never -ffast-math.
//
// Macros that may be defined for the compiler:
//   LATHE_WEIGHTS_ATTRIBUTE    of the arrays of weights, such as __attribute__((section(".flash")))
//   LATHE_WORKSPACE_ATTRIBUTE  of the workspace
//   LATHE_CALLER_WORKSPACE     leaves out the static workspace and the function that uses it

`

const checks = `
#ifdef __FAST_MATH__
#error "-ffast-math changes what infinities, NaN and rounding mean here"
#endif
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif
#ifndef LATHE_WEIGHTS_ATTRIBUTE
#define LATHE_WEIGHTS_ATTRIBUTE
#endif
#ifndef LATHE_WORKSPACE_ATTRIBUTE
#define LATHE_WORKSPACE_ATTRIBUTE
#endif

_Static_assert(sizeof(float) == 4, "float has 32 bits");
`

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

// storage tells how elements are kept that C has no type for.
var storage = map[types.DType]string{types.F16: ", as its bits", types.BF16: ", as its bits", types.Bool: ", 0 or 1"}

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
