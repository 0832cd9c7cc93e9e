package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"lathe/internal/bundle"
	"lathe/internal/executor"
)

// Info is what a package says of itself, lathe.json:
//
//	Format, ABI int               // versions of the package's form and of its library's interface
//	Lathe       string            // version of the compiler
//	Module      string            // the library exports lathe_<module>_run
//	Target      struct {          // what it was compiled for
//		String   string   // as --target takes it, with CPU and features spelt out
//		Triple   string   // LLVM's
//		CPU      string   // LLVM's name
//		Features []string // LLVM's names of the features the code needs
//	}
//	Options     map[string]string // of the compilation
//	Source      struct {          // the model
//		File   string
//		SHA256 string
//	}
//	Workspace   int               // bytes for what steps leave each other
//	Scratch     int               // bytes for each worker besides
//	MaxWorkers  int               // more gain nothing; 0 = any number
//	Symbols     int               // extents that depend on data
//	FLOPs       int64             // arithmetic operations of the model as it was given
//	Steps       []Step
//	Inputs      []TensorInfo
//	Outputs     []TensorInfo
//	Params      []string          // names of the constants in order
//	Notes       []string          // what the compiler told
//	Taps        []Tap             // what the last outputs are, which a calibration sees and Module.Outputs leaves out
//	Digests     map[string]string // of members beside the library
//	External    []External        // regions of external code generators, in the order of their steps
type Info = bundle.Manifest

// TensorInfo describes an input or output:
//
//	Name    string
//	DType   string // element type by numpy's name: float32, int8, bool ...
//	Shape   []int
//	Symbols []int  // nil, or for each dimension -1, or a number where Shape is an upper bound
//	Meaning struct {  // embedded: what the model's file says of the numbers
//		Scale   float64   // integers q stand for Scale (q - Zero); 0: for themselves
//		Zero    int
//		Aliases []string  // other names, by which SetInput and BindInput know it too
//		Labels  []string  // names of the classes along the last axis longer than 1
//		Mean    []float64 // pixels p from 0 to 255 become (p - Mean) / Std, one number or one for each channel
//		Std     []float64
//	}
//
// Output tells the actual extents. The method ByteSize returns the bytes of the tensor at its largest.
type TensorInfo = bundle.TensorInfo

// Meaning is what a TensorInfo says of the numbers of a tensor.
type Meaning = bundle.Meaning

// Errors that methods of a Module wrap.
var (
	ErrBusy   = errors.New("the module is running in another goroutine; use Clone to run it twice at once")
	ErrClosed = errors.New("the module is closed")
)

// Module is an open package with the memory for one run at a time. Its methods may be called from any goroutine; a call
// that meets another one in progress returns ErrBusy.
type Module struct {
	info  *Info
	code  *executor.Module
	state atomic.Int32
}

// States of a module.
const (
	idle int32 = iota
	busy
	closed
)

// Option changes how Open sets up a module.
type Option func(*options)

type options executor.Options

// WithWorkers sets the number of threads a run uses, instead of LATHE_NUM_THREADS, TVM_NUM_THREADS or what the machine
// allows. Small models use one thread whatever is asked for. Results do not depend on the number.
func WithWorkers(n int) Option { return func(o *options) { o.Workers = n } }

// WithCheck has Open compare all weights with the digest that was written with them, and refuse a damaged package or one
// without digests. Open alone does so for weights of up to 4 MiB, and for the code in any case.
func WithCheck() Option { return func(o *options) { o.Check = true } }

// WithMappedWeights leaves weights in the file, mapped: opening reads none, and processes share what runs bring into memory. For
// programs that run a model once, or have little memory. Without it Open reads weights of more than 8 MB into huge pages where
// the system has some, which makes runs up to a tenth faster.
func WithMappedWeights() Option { return func(o *options) { o.Mapped = true } }

// Open maps the package at path, checks that this machine can run it and loads its library. The path is a tar, the
// triple beside NAME.so, NAME.so with the other files inside, or an unpacked directory.
func Open(path string, opts ...Option) (*Module, error) {
	o := options{Workers: executor.FromMachine}
	for _, f := range opts {
		f(&o)
	}
	code, err := executor.Open(path, executor.Options(o))
	if err != nil {
		return nil, err
	}
	return &Module{info: code.Info(), code: code}, nil
}

// Clone returns a module that shares the package and its weights with m and has its own inputs, outputs, work space and
// threads, so that both can run at the same time. Each is closed by itself.
func (m *Module) Clone() (*Module, error) {
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("clone: %w", err)
	}
	defer m.leave()
	code, err := m.code.Clone()
	if err != nil {
		return nil, fmt.Errorf("clone: %w", err)
	}
	return &Module{info: m.info, code: code}, nil
}

// Close stops the threads and releases the memory; tensors that Output returned must not be used any more. Closing twice
// is allowed.
func (m *Module) Close() error {
	if !m.state.CompareAndSwap(idle, closed) {
		if m.state.Load() == closed {
			return nil
		}
		return fmt.Errorf("close: %w", ErrBusy)
	}
	return m.code.Close()
}

// Info returns the package's manifest, which the caller must not change.
func (m *Module) Info() *Info { return m.info }

// Inputs returns the model's inputs in order. The caller must not change their shapes.
func (m *Module) Inputs() []TensorInfo { return slices.Clone(m.info.Inputs) }

// Outputs returns the model's outputs in order. The caller must not change their shapes.
func (m *Module) Outputs() []TensorInfo { return slices.Clone(m.info.ModelOutputs()) }

// Workers returns the number of threads a run uses.
func (m *Module) Workers() int { return m.code.Workers() }

// Memory is what a run of a package takes:
//
//	Run       int64 // all but the weights
//	Workspace int64 // what steps leave each other
//	Scratch   int64 // of all workers
//	Inputs    int64
//	Outputs   int64
//	Workers   int
//	Weights   int64 // read where the package lies: the system takes them back when memory is short; 0 where that is not known
type Memory = bundle.Memory

// Memory returns what a run of m takes with its number of workers.
func (m *Module) Memory() Memory { return m.code.Memory() }

// enter claims the module for one method call; leave gives it back.
func (m *Module) enter() error {
	if m.state.CompareAndSwap(idle, busy) {
		return nil
	}
	if m.state.Load() == closed {
		return ErrClosed
	}
	return ErrBusy
}

func (m *Module) leave() { m.state.Store(idle) }
