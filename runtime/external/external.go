// Package external is what the runtime calls the modules of external code generators by: regions of a network that other code than
// the package's own computes. A Runtime opens what a generator wrote into a package; those that are not built in are shared objects with the
// functions of include/lathe_external.h, see Load.
package external

import "unsafe"

// A Tensor is an operand of a run, dense and in row-major order. It is valid during the call only.
type Tensor struct {
	DType string // numpy's name of the elements
	Shape []int64
	Bytes int
	Data  unsafe.Pointer // aligned to the elements
}

// Info says what the module of a region is called with: operands without data, whose shapes are the greatest there will be.
type Info struct {
	Symbol          string
	Inputs, Outputs []Tensor
	Workers         int // threads of a run
}

// A Module is an open region. No two of its methods are called at once.
type Module interface {
	// Run computes the outputs from the inputs, of which neither overlap the others, with so many threads. The shapes are those of
	// this call.
	Run(in, out []Tensor, workers int) error
	Close() error
}

// A Runtime opens regions.
type Runtime struct {
	Name string // as packages name it
	// Open opens the bytes that the generator wrote, which last until Close and must not be changed. What other programs may have
	// written must end with an error, whatever it is.
	Open func(blob []byte, info Info) (Module, error)
}
