package lathe

import (
	"fmt"
	"io"
	"strconv"

	"lathe/internal/compile"
	"lathe/runtime"
)

// LoadOptions controls Load.
type LoadOptions struct {
	Format string // tvmc's name of the model format; "" = by the file
	// Weights names the file or folder of weights of a model that keeps them outside of its own file; "" = found beside it.
	// RandomWeights makes values up, by which a network without weights can be compiled, run and timed.
	Weights string
	// Shapes gives inputs by name a shape, and Sizes the names in the shapes that the file declares ("batch", "seq+1") a
	// size. Equal names are equal sizes; what neither gives and nothing says otherwise is 1.
	Shapes map[string][]int
	Sizes  map[string]int
	// Fix makes inputs constants. A tensor of rank 0 fills the input; elements are converted where that keeps their value,
	// floats being rounded.
	Fix map[string]runtime.Tensor
	// Inputs and Outputs are values of the model that become its inputs and outputs, by the names of values or of nodes, NODE:K being result K of one;
	// none: the model's own. Inputs that the outputs still need stay. A program of PyTorch has no such names.
	Inputs, Outputs []string
	// LoopBound is how many slices the stacked results of a loop have at most whose end depends on data; 0: as the model says, or
	// 1024. A run that needs more ends with an error.
	LoopBound int
	// FormatOptions are choices that models of one format leave to the user, by their names in FormatOptions(). Models of other formats refuse them.
	FormatOptions map[string]string
	Notes         func(string) // told what the user should know; may be nil
}

// FormatOption is a choice that models of one format leave to the user.
type FormatOption struct {
	Name, Doc string
	Format    string   // the names of its formats
	Values    []string // the first holds where none is given
}

// RandomWeights is a value of LoadOptions.Weights. A file of that name is "./random".
const RandomWeights = "random"

// CompileOptions controls Compile. The zero value compiles as 'lathe compile' does without flags: for this machine, at -O3,
// into a package.
type CompileOptions struct {
	// Target is written as for --target: "llvm" for this machine, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72" with
	// LLVM's names of machines, CPUs and features (-mattr=+a,-b), "c" for C source, or a name that 'lathe targets' lists.
	// Empty is what the format is for, and this machine for a package.
	Target         string
	OptLevel       OptLevel
	DisabledPasses []string // names from Passes
	DesiredLayout  []string // layouts of convolutions, such as "NHWC"; empty = chosen by the compiler
	// DesiredLayoutOps are the operators that DesiredLayout is for, by Relay's names: nn.conv2d, qnn.conv2d ...; empty = all
	// convolutions. Others take what the compiler chooses.
	DesiredLayoutOps []string
	ModuleName       string    // part of the exported symbol; "" = "default"
	Format           string    // a name from Formats; "" = by Output and the target
	Output           string    // the file that Save will write: its extension chooses the format, or is refused; may be empty
	Weights          Weights   // where they go
	Denormals        Denormals // how floats below the smallest normal number are computed with
	DumpCode         []string  // formats for Package.Code: relay, tir, ll, asm
	PrintPassTimes   io.Writer // gets the time of each pass; may be nil
	PrintIRBefore    []string  // names from Passes
	PrintIRAfter     []string
	IROut            io.Writer // gets the printed IR
	Workers          int       // compiler threads; 0 = what the machine allows
	Progress         func(phase string, done, total int)
	Notes            func(string)

	// Codegens are external code generators that are part of this program, which Target may name before the target: "mine, llvm".
	Codegens []Codegen
	// NoExternalFallback leaves out what would compute the regions of external code generators where their modules cannot be opened, with its weights.
	NoExternalFallback bool
	// Calibration is for external code generators that need one, such as those of DPUs.
	Calibration Calibration

	// Choices are decisions by the name of the node or kernel that they are for (docs/decisions.md); others are taken by default.
	Choices map[string]map[string]string
	// Records are files that Tune wrote. Kernels for which there is a record that a verdict accepted, on a machine of the target's class, are
	// compiled by it.
	Records []string
}

// OptLevel is how far the compiler goes: one of the constants, O0 to O4.
type OptLevel string

// Levels. From O0 on each does more; what a pass does, and from which level on, Passes tells. O4 may lose
// accuracy: float32 meets weights of int8 with 15 bits and a sign, in units of the greatest number of its row.
const (
	DefaultOpt OptLevel = "" // O3
	O0         OptLevel = "0"
	O1         OptLevel = "1"
	O2         OptLevel = "2"
	O3         OptLevel = "3"
	O4         OptLevel = "4"
)

// number is the level as the driver counts.
func (l OptLevel) number() (int, error) {
	if l == DefaultOpt {
		l = O3
	}
	if n, err := strconv.Atoi(string(l)); err == nil && n >= 0 && n <= 4 {
		return n, nil
	}
	return 0, fmt.Errorf("optimisation level %q: must be 0 to 4", string(l))
}

// Weights says where the weights of a compiled model are.
type Weights int

// Places of weights. WeightsByFormat is beside a shared library and inside a static one.
const (
	WeightsByFormat = Weights(compile.WeightsByFormat)
	WeightsBeside   = Weights(compile.WeightsBeside)
	WeightsInside   = Weights(compile.WeightsInside)
)

// Denormals says what compiled code does with denormal floats.
type Denormals string

// Ways to compute with denormals. DenormalsByTarget flushes them to zero where the target can: on x86-64 and ARM.
const (
	DenormalsByTarget = Denormals(compile.DenormalsByTarget)
	DenormalsFlush    = Denormals(compile.DenormalsFlush)
	DenormalsKeep     = Denormals(compile.DenormalsKeep)
)

// Tensor describes an input or output of a model. Element types have numpy's names.
type Tensor struct {
	Name  string
	DType string
	Shape []int
}

// OpCount is how often a model file uses an operator.
type OpCount struct {
	Name      string `json:"name"`
	Count     int    `json:"count"`
	Supported bool   `json:"supported"`
	Reason    string `json:"reason,omitempty"` // why it is not
}

// VerifyOptions controls Verify.
type VerifyOptions struct {
	Target         string // as in CompileOptions
	OptLevel       OptLevel
	DisabledPasses []string
	Denormals      Denormals
	PerOperator    bool // compare each operator by itself, on the operands the reference gives it
	Progress       func(phase string, done, total int)
	Notes          func(string)
}

// VerifyReport is the outcome of Verify, one row per compared tensor in the order of the model.
type VerifyReport struct {
	Rows []VerifyRow
	OK   bool // every row is within its tolerance
}

// VerifyRow compares one tensor with the reference.
type VerifyRow struct {
	Name      string   // tensor
	Nodes     []string // nodes of the model it comes from
	RelL2     float64  // relative L2 distance
	MaxAbs    float64  // largest absolute difference
	Tolerance float64  // for RelL2
	OK        bool
	Note      string // why there is nothing to compare, or why the comparison says little
}

// PassInfo describes a pass.
type PassInfo struct {
	Name     string // as --disabled-pass and --print-ir-after take it
	Phase    string // graph or loop
	Level    int    // runs from this -O level on
	Required bool   // cannot be disabled
	Doc      string
}

// FormatInfo describes a form in which a compiled model leaves the compiler.
type FormatInfo struct {
	Name, Doc string
	Output    string // the file to write when none is named
}

// OpInfo describes an operator of the graph level.
type OpInfo struct {
	Name  string // Relay's name
	Class string // fusion class
	Doc   string
	// Implementations are the ways to its kernels: "derived" from tensor expressions, "extern", loops of its own, and "anchor", loops
	// of its own that take in the rest of a group.
	Implementations []string
}
