// Package byoc lets code generators other than the compiler's own take parts of a network: "bring your own code generator", TVM's name
// for it. A Codegen says which nodes it takes and compiles regions of them; the passes MergeComposite, AnnotateTarget,
// MergeCompilerRegions and PartitionGraph make the regions. Package codegens has the list of those that are built in.
package byoc

import (
	"context"

	"lathe/internal/graph"
	"lathe/internal/target"
)

// A Codegen is an external code generator. Its functions may be called at once and must not keep or change what they get.
type Codegen struct {
	Name    string // as in --target "NAME, llvm" and in composites
	Doc     string
	Options []target.OptionInfo
	Aliases []Alias

	// Fits refuses a target that regions cannot be generated for; nil: none.
	Fits func(t *target.Target, o Options) error
	// Claim says at once what the generator takes of a network, in place of Patterns and Supports; nil: these say it.
	Claim func(ctx context.Context, g *graph.Graph, o Options) (Claims, error)
	// Patterns are the composites, those to try first first; nil: none.
	Patterns func(o Options) []Pattern
	// Supports says why the generator does not take a node that is in no composite, and nil where it does.
	Supports func(n *graph.Node, o Options) error
	// Layout is the layout in which the generator wants the activations of operators, by Relay's name of an operator in TVM's letters
	// ("nn.conv2d": "NHWC"); nil: any.
	Layout func(o Options) map[string]string
	// Whole reports whether the generator wants all nodes of a kernel of the compiler's own or none: a region that cuts one makes the steps slower
	// that stand in its place where it is not run; nil: it takes any.
	Whole func(o Options) bool
	// Pays says why the generator does not take a region all of which it supports, and nil where it does; a nil function takes all.
	Pays func(r Region, o Options) error
	// Emulate gives nodes that the compiler's own kernels compute in a region's place, for devices that are emulated; nil: none is, and
	// Compile generates code.
	Emulate func(r Region, o Options) (Emulation, error)
	// Compile generates the region's code. The result depends on nothing else. Errors name the node.
	Compile func(ctx context.Context, r Region, o Options) (Module, error)
}

// Claims say what a generator takes of a network, and why it does not take other nodes.
type Claims struct {
	Taken   []Composite
	Refused map[*graph.Node]string
}

// A Composite is nodes that a generator takes for one, or, without a name, nodes that it takes one by one.
type Composite struct {
	Name    string
	Members []*graph.Node
}

// An Alias is another name of a generator, with options that it stands for: dpuczdx8g-zcu104 is vitis-ai with an architecture.
type Alias struct {
	Name    string
	Options Options
}

// Options are the options of a generator as they were given, in the order of writing. What is not given has the generator's default.
type Options []target.Option

// Value is the value of an option, "" where it was not given. Switches are "1" or "0".
func (o Options) Value(name string) string {
	for _, v := range o {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// A Region is what a generator compiles: a network of ordinary operators and of composites, with plain layouts. Its inputs and
// outputs are the operands of a call, in order; all constants are inside.
type Region struct {
	Symbol string         // unique in the package: tvmgen_default_NAME_main_0
	Graph  *graph.Graph   // the generator's own
	Target *target.Target // of the package: the machine around the generator's
	// Calibration is what an earlier calibration of the network found, in the generator's form; nil: there was none.
	Calibration []byte
	Form        Form
}

// Form is what an emulation is for.
type Form string

// Forms of emulations.
const (
	Run    Form = ""       // to run
	QDQ    Form = "qdq"    // to hand on to tools of the device as a graph of pairs of quantize and dequantize
	XModel Form = "xmodel" // to hand on to the device's compiler, in its own form
)

// A Tap is a value of an emulation's graph and its name, which is unique in the region.
type Tap struct {
	Name  string
	Value *graph.Value
}

// An Emulation stands for a region of a device that this machine does not have.
type Emulation struct {
	// Graph computes, with the region's inputs, its outputs as the device does, or as the region does that lacks a calibration for that.
	Graph  *graph.Graph
	Hash   string   // of the region: what a calibration goes by
	Taps   []Tap    // what one must see; nil where there was one
	Cycles int64    // expected of the device for a run; 0: unknown
	Notes  []string // what users should know
	File   []byte   // of Form XModel
}

// Kind is what a generator generates.
type Kind string

// Kinds of modules.
const (
	// Blob is loaded by a run-time module of the name Module.Runtime, which runs the region.
	Blob Kind = "blob"
	// Object is a relocatable object for the package's target; it defines Region.Symbol, void(const void *const *in, void *const *out,
	// int32 worker, int32 workers), which computes the region or a worker's part of it, needs no other symbol and has no writable data.
	Object Kind = "object"
	// IR is LLVM's assembly language; what it defines is as in Object.
	IR Kind = "ir"
	// C is C11 that defines that function, and nothing else that is not static and does not begin with its name, for target c.
	C Kind = "c"
)

// Kinds lists them.
var Kinds = []Kind{Blob, Object, IR, C}

// A Module is a compiled region. All constants of the region are in it.
type Module struct {
	Kind    Kind
	Bytes   []byte
	Runtime string // of a Blob: which run-time module loads it
	// WhenFaster says that the region is run by the module only where that takes less time than the steps of the compiler's own, which
	// the runtime finds out when it opens the package: for libraries that compute on the same cores.
	WhenFaster bool
	Cycles     int64    // expected of a run; 0: unknown
	Notes      []string // what users should know
}

// A Chosen is a generator with the options that were given.
type Chosen struct {
	*Codegen
	Given Options
}
