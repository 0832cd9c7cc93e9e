package runtime

import (
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/executor"
	"lathe/runtime/external"
)

// External is what a package says of a region that an external code generator has compiled:
//
//	Symbol          string    // unique in the package
//	Generator       string    // its name in the target
//	Runtime         string    // of the run-time module that loads it
//	ABI             int       // of include/lathe_external.h
//	Member, SHA256  string    // of the package, and of its bytes
//	Fallback        [2]int    // the steps [first,last) that compute the same without it
//	NoFallback      bool      // these steps compute nothing: without the module the package does not open
//	WhenFaster      bool      // the fallback runs where it takes less time, which Open finds out
//	Inputs, Outputs []Operand // where they lie, with DType and Shape
//	Cycles          int64     // that the generator expects of a run; 0: unknown
//	Nodes           []string  // of the model
type External = bundle.External

// ExternalVariable is the environment variable that says whether regions are run by the modules of external code generators: off, not at
// all; require, or Open is an error; auto or nothing, where that is possible, and by the package's own steps elsewhere.
const ExternalVariable = executor.ExternalVariable

// WithExternal gives Open run-time modules of external code generators. They come before those that are built in or found in
// LATHE_EXTERNAL_PATH.
func WithExternal(modules ...external.Runtime) Option {
	return func(o *options) { o.External = append(slices.Clip(o.External), modules...) }
}

// Notes are what users should know of how the package was opened: regions that the package's own steps compute although it has a module for
// them, and why.
func (m *Module) Notes() []string { return m.code.Notes() }

// External lists the symbols of the regions that modules of external code generators run.
func (m *Module) External() []string { return m.code.External() }
