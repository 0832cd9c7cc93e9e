package c

import (
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
	Regions   []Region
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

// A Region is a function that an external code generator wrote, in C, with what it needs:
//
//	void Symbol(const void *const *in, void *const *out, int32_t worker, int32_t workers);
type Region struct {
	Symbol  string
	Comment string
	Text    string
}

// A Call is a step of the network: a kernel, its operands, and where in the workspace its scratch begins; or a loop.
type Call struct {
	Kernel    int
	Region    *Region // nil, or what is called in place of a kernel, with In and Out
	In, Out   []Place
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
	for _, r := range f.Regions {
		s.taken[r.Symbol], s.taken["in"], s.taken["out"] = true, true, true // where they are called
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

// SymbolMark stands for a kernel's name in its text, so that equal kernels have equal texts.
const SymbolMark = "LATHE_KERNEL"

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

// storage tells how elements are kept that C has no type for.
var storage = map[types.DType]string{types.F16: ", as its bits", types.BF16: ", as its bits", types.Bool: ", 0 or 1"}
