package target

import "slices"

// OptionType is the form of an option's value.
type OptionType int

// The forms of values.
const (
	Text OptionType = iota
	Number
	List // separated by commas
	Switch
)

// OptionInfo describes an option of a kind.
type OptionInfo struct {
	Name    string
	Type    OptionType
	Doc     string
	Refused string // why the option cannot be used; empty where it works
}

const (
	noFastMath = "arithmetic keeps IEEE semantics; -O4 allows less"
	noLibs     = "Lathe calls no foreign libraries"
	noJIT      = "Lathe writes packages and does not execute what it generates"
)

// llvmOptions are TVM's options of the kind llvm and the ones common to all kinds.
var llvmOptions = []OptionInfo{
	{Name: "mtriple", Type: Text, Doc: "machine, such as aarch64-linux-gnu (default: this machine)"},
	{Name: "mcpu", Type: Text, Doc: "CPU by LLVM's name, or native (default: this machine's, with -mtriple the plainest one)"},
	{Name: "mattr", Type: List, Doc: "CPU features to add or remove: +avx2,-avx512f"},
	{Name: "num-cores", Type: Number, Doc: "cores to expect"},
	{Name: "caches", Type: List, Doc: "KiB of a core's L1 for data, its L2 and its share of L3: 48,2048,1920"},
	{Name: "clock", Type: Number, Doc: "MHz to expect"},
	{Name: "datapath", Type: Number, Doc: "bits of a vector that arithmetic takes at once"},
	{Name: "fma-units", Type: Number, Doc: "multiply-adds of vectors that begin in a cycle"},
	{Name: "fma-latency", Type: Number, Doc: "cycles from one multiply-add to the next of the same sum"},
	{Name: "load-units", Type: Number, Doc: "vectors that a cycle loads from L1"},
	{Name: "l2-rate", Type: Number, Doc: "bytes a cycle that a core reads from its L2"},
	{Name: "l3-rate", Type: Number, Doc: "bytes a cycle that a core reads from L3"},
	{Name: "memory-rate", Type: Number, Doc: "MB/s that one core reads from memory"},
	{Name: "reclaim-rate", Type: Number, Doc: "MB/s that one core writes of what others have read"},
	{Name: "streams", Type: Number, Doc: "streams of memory that a core reads fastest side by side"},
	{Name: "opt-level", Type: Number, Doc: "LLVM's code generation level, 1 to 3"},
	{Name: "keys", Type: List, Doc: "recorded, without effect"},
	{Name: "device", Type: Text, Doc: "recorded, without effect"},
	{Name: "model", Type: Text, Doc: "recorded, without effect"},
	{Name: "mfloat-abi", Type: Text, Doc: "float ABI", Refused: "name it in the triple: armv7-linux-gnueabihf or armv7-linux-gnueabi"},
	{Name: "mabi", Type: Text, Doc: "ABI", Refused: "the triple's standard ABI is used"},
	{Name: "fast-math", Type: Switch, Doc: "all of fast-math-*", Refused: noFastMath},
	{Name: "fast-math-nnan", Type: Switch, Doc: "assume no NaN", Refused: noFastMath},
	{Name: "fast-math-ninf", Type: Switch, Doc: "assume no infinities", Refused: noFastMath},
	{Name: "fast-math-nsz", Type: Switch, Doc: "ignore the sign of zero", Refused: noFastMath},
	{Name: "fast-math-arcp", Type: Switch, Doc: "allow reciprocals", Refused: noFastMath},
	{Name: "fast-math-contract", Type: Switch, Doc: "allow contraction", Refused: noFastMath},
	{Name: "fast-math-reassoc", Type: Switch, Doc: "allow reassociation", Refused: noFastMath},
	{Name: "vector-width", Type: Number, Doc: "width of vectors in bits", Refused: "it follows from the CPU; -mattr=+prefer-256-bit and -mattr=-avx512f narrow it"},
	{Name: "cl-opt", Type: List, Doc: "LLVM's command line options", Refused: "they change the whole process"},
	{Name: "jit", Type: Text, Doc: "LLVM's execution engine", Refused: noJIT},
	{Name: "libs", Type: List, Doc: "libraries to call", Refused: noLibs},
	{Name: "from_device", Type: Number, Doc: "take options from a device", Refused: "use -mcpu=native"},
	{Name: "system-lib", Type: Switch, Doc: "register symbols in the process", Refused: "packages are opened by the runtime"},
	{Name: "host", Type: Text, Doc: "host of the target", Refused: "the target is its own host"},
}

// cOptions are TVM's options of the kind c and the ones common to all kinds.
var cOptions = []OptionInfo{
	{Name: "mcpu", Type: Text, Doc: "recorded, without effect: name it for the C compiler"},
	{Name: "march", Type: Text, Doc: "recorded, without effect: name it for the C compiler"},
	{Name: "keys", Type: List, Doc: "recorded, without effect"},
	{Name: "device", Type: Text, Doc: "recorded, without effect"},
	{Name: "model", Type: Text, Doc: "recorded, without effect"},
	{Name: "workspace-byte-alignment", Type: Number, Doc: "alignment of the workspace", Refused: "the source aligns it to 8 bytes; LATHE_WORKSPACE_ATTRIBUTE may align it further"},
	{Name: "constants-byte-alignment", Type: Number, Doc: "alignment of constants", Refused: "constants are C arrays; LATHE_WEIGHTS_ATTRIBUTE may align them"},
	{Name: "libs", Type: List, Doc: "libraries to call", Refused: noLibs},
	{Name: "from_device", Type: Number, Doc: "take options from a device", Refused: "the source is for every device"},
	{Name: "system-lib", Type: Switch, Doc: "register symbols in the process", Refused: "the source is one function to call"},
	{Name: "host", Type: Text, Doc: "host of the target", Refused: "the target is its own host"},
}

// kindOptions are the options of the kinds that can be compiled for.
var kindOptions = []struct {
	kind    string
	options []OptionInfo
}{{"llvm", llvmOptions}, {"c", cOptions}}

// Options lists the options of a kind, nil for kinds that cannot be compiled for.
func Options(kind string) []OptionInfo {
	for _, k := range kindOptions {
		if k.kind == kind {
			return slices.Clone(k.options)
		}
	}
	return nil
}

// Supported lists the kinds that can be compiled for.
func Supported() []string {
	var kinds []string
	for _, k := range kindOptions {
		kinds = append(kinds, k.kind)
	}
	return kinds
}

// deviceKinds are TVM's other kinds.
var deviceKinds = []string{
	"cuda", "nvptx", "rocm", "opencl", "metal", "vulkan", "webgpu", "hexagon", "sdaccel", "aocl", "aocl_sw_emu",
	"stackvm", "ext_dev", "hybrid", "composite", "test",
}

// Codegens are TVM's external code generators.
var Codegens = []string{"dnnl", "compute-library", "bnns", "vitis-ai", "clml", "mrvl", "cmsis-nn", "ethos-n", "ethos-u"}

// Kinds lists the kinds and external code generators of targets, those of Supported first.
func Kinds() []string { return slices.Concat(Supported(), deviceKinds, Codegens) }
