// Package toolchain turns LLVM IR text into object code, and objects into one shared object or WebAssembly module, inside
// this process.
//
// It is the only package that knows LLVM and lld: their versions, their C and C++ interfaces, and their habit of ending
// the process when they meet something they cannot compile (see shim.cpp). It does not know loop IR, packages or
// models, chooses no CPU by itself and writes no file that outlives a call.
//
// LLVM is found under /usr/lib/llvm-22, where Debian's packages put it. Another place is named with the environment
// variables CGO_CFLAGS, CGO_CXXFLAGS and CGO_LDFLAGS, which `make LLVM_CONFIG=/path/to/llvm-config` sets. With the build
// tag llvmstatic LLVM is linked into the binary.
package toolchain

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultPasses is the pipeline of Compile when none is named. The code generator already writes explicit vectors in SSA
// form, so that -O1 to -O3 give the same code and only cost compile time; what is left to do is to lift the few stack
// slots, fold address arithmetic and merge blocks.
const DefaultPasses = "function(mem2reg,instcombine,simplifycfg)"

// Object is a relocatable object file.
type Object = []byte

// Options say what machine code is generated for.
type Options struct {
	Triple   string                    // such as "x86_64-linux-gnu"; empty is this machine's
	CPU      string                    // LLVM's name, such as "znver4"; empty is the plainest CPU of the triple
	Features []string                  // changes to what the CPU has, such as "+avx2" or "-avx512f", applied in order
	Only     func(feature string) bool // if given, what the CPU's name implies beside these features is switched off
	OptLevel int                       // code generation level 1 to 3; 0 means 2, for LLVM's own level 0 makes code 6 to 8 times slower
}

// Machine compiles for one target. It holds names only, needs no closing, and is safe for concurrent use.
type Machine struct {
	triple   string
	cpu      string
	features string // joined with commas
	level    int
	resolved []string

	asWritten bool
}

// Open checks every name in o and proves the combination by compiling an empty function, so that a later error of the
// Machine is about the IR and not about the target.
func Open(o Options) (*Machine, error) {
	if o.Triple == "" {
		o.Triple = HostTriple()
	}
	if o.OptLevel == 0 {
		o.OptLevel = 2
	}
	if o.OptLevel < 1 || o.OptLevel > 3 {
		return nil, fmt.Errorf("code generation level %d: want 1, 2 or 3", o.OptLevel)
	}
	resolved, err := resolve(o.Triple, o.CPU, o.Features)
	if err != nil {
		return nil, err
	}
	if o.Only != nil {
		features := slices.Clone(o.Features)
		for _, f := range resolved {
			if !o.Only(f) {
				features = append(features, "-"+f)
			}
		}
		o.Features = features
		if resolved, err = resolve(o.Triple, o.CPU, o.Features); err != nil {
			return nil, err
		}
	}
	m := &Machine{triple: o.Triple, cpu: o.CPU, features: strings.Join(o.Features, ","), level: o.OptLevel, resolved: resolved}
	// As assembly, for not every target has object files.
	if _, err := m.Assembly("define void @probe() {\n  ret void\n}\n", ""); err != nil {
		return nil, fmt.Errorf("target %s, CPU %q, features %q: %w", o.Triple, o.CPU, m.features, err)
	}
	return m, nil
}

// Features returns, sorted and without sign, the instruction set features that generated code may use: what the triple
// and the CPU imply, changed by Options.Features. Features that only tune the choice of instructions, or name the mode the
// processor runs in, are not among them.
func (m *Machine) Features() []string { return slices.Clone(m.resolved) }
