// Package target turns what users write for --target into an explicit description of the machine to compile for.
//
// Parse reads tvmc's grammar (plain string, inline JSON) into a Spec; Spec.Resolve fills in what was left to the host and
// looks up the CPU in tables. The package knows neither LLVM nor the machine it runs on: the host is an argument, and
// names of LLVM features outside the tables pass through unchecked, for the toolchain checks them.
package target

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/cpu"
	"lathe/internal/isa"
)

// Target is the machine that code is generated for. Features have LLVM's names.
type Target struct {
	Kind   string // "llvm", or "c": source for a C compiler, see c.go
	Arch   Arch
	Triple string // LLVM's, such as "x86_64-linux-gnu"
	CPU    string // LLVM's name, such as "znver4"
	// Attrs are the changes to what the CPU implies, "+name" or "-name", in the order to hand to LLVM.
	Attrs []string
	// Features are the instruction sets of the tables that code may use, sorted, with all that CPU and Attrs imply.
	Features   []string
	VectorBits int  // width of a vector register
	VectorRegs int  // vector registers; where there are none, scalar ones by the four
	HasFMA     bool // multiply-add in one instruction
	Reach      int  // bytes behind an address that a load of a float32 names by itself; 0: any number
	HasDot     bool // sum of four products of bytes, data by int8 weights, in one instruction on whole vectors
	SignedDot  bool // data are int8 in that instruction, and not uint8
	L1, L2, L3 int  // bytes: L1 data and L2 of a core, its share of L3; L3 is 0 where there is none
	Core
	NumCores int // cores to expect; results do not depend on it
	OptLevel int // LLVM's code generation level 1 to 3; 0 = the toolchain's default
	// Remarks are option=value pairs that are recorded and change nothing: keys, device, model.
	Remarks []string
	// Generators are the external code generators that take parts of a network.
	Generators []Generator
}

// Has reports whether code may use the feature.
func (t *Target) Has(feature string) bool {
	_, ok := slices.BinarySearch(t.Features, feature)
	return ok
}

// Tiles are the registers of matrices whose products code may use, nil where there are none.
func (t *Target) Tiles() *isa.Tiles {
	if set := t.ISA().Instructions.Tiles; set != nil && t.Has(set.Feature) {
		return set
	}
	return nil
}

// Lanes returns how many elements of the given width in bits a vector register holds, at least 1.
func (t *Target) Lanes(bits int) int { return max(1, t.VectorBits/bits) }

// PointerBits returns the size of an address: 32 or 64.
func (t *Target) PointerBits() int { return cmp.Or(t.ISA().PointerBits, 64) }

// Downloaded reports whether users fetch the package over a network before they run it, so that constants should not grow.
func (t *Target) Downloaded() bool { return t.ISA().Object == isa.Wasm }

// String returns the target in canonical form: parsed and resolved on any host it gives the same Target.
func (t *Target) String() string {
	var b strings.Builder
	for _, g := range t.Generators {
		b.WriteString(g.String() + ", ")
	}
	return b.String() + t.Bare()
}

// Bare is String without external code generators.
func (t *Target) Bare() string {
	var b strings.Builder
	b.WriteString(t.Kind)
	if !t.IsSource() {
		fmt.Fprintf(&b, " -mtriple=%s -mcpu=%s", t.Triple, t.CPU)
	}
	if len(t.Attrs) > 0 {
		fmt.Fprintf(&b, " -mattr=%s", strings.Join(t.Attrs, ","))
	}
	if !t.IsSource() {
		fmt.Fprintf(&b, "%s -num-cores=%d", t.factWords(), t.NumCores)
	}
	if t.OptLevel > 0 {
		fmt.Fprintf(&b, " -opt-level=%d", t.OptLevel)
	}
	for _, r := range t.Remarks {
		name, value, _ := strings.Cut(r, "=")
		fmt.Fprintf(&b, " -%s=%s", name, quote(value))
	}
	return b.String()
}

// Host is the machine the compiler runs on.
type Host struct {
	Triple   string
	Machine  *cpu.Machine
	Cores    int
	Measured *Measured // nil: nothing
}

// Resolve returns the target that s describes. host is called when s leaves something to this machine: the triple, or
// the CPU where the triple is missing too or names the host's architecture with -mcpu=native.
func (s *Spec) Resolve(host func() (Host, error)) (*Target, error) {
	t, err := s.resolve(host)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", s, err)
	}
	t.Generators = s.Generators
	return t, nil
}

func (s *Spec) resolve(host func() (Host, error)) (*Target, error) {
	if err := s.supported(); err != nil {
		return nil, err
	}
	if s.Kind == "c" {
		return s.source(), nil
	}
	t := &Target{Kind: s.Kind, Triple: s.value("mtriple"), CPU: s.value("mcpu"), NumCores: defaultCores}
	native := t.CPU == "native" || t.CPU == "" && t.Triple == ""
	var h Host
	if native || t.Triple == "" {
		var err error
		if h, err = host(); err != nil {
			return nil, fmt.Errorf("this machine: %w", err)
		}
		if err := t.fromHost(h, native); err != nil {
			return nil, err
		}
	}
	a, err := ofTriple(t.Triple)
	if err != nil {
		return nil, err
	}
	if err := checkSystem(t.Triple); err != nil {
		return nil, err
	}
	if t.Arch = a.Arch; a.Canonical != nil {
		if t.Triple, err = a.Canonical(t.Triple); err != nil {
			return nil, err
		}
	}
	if err := t.applyOptions(s); err != nil {
		return nil, err
	}
	if t.CPU == "" {
		t.CPU = a.Generic
	}
	if err := t.describe(); err != nil {
		return nil, err
	}
	if native {
		t.machineFacts(h.Machine)
		t.measuredFacts(h.Measured)
	}
	return t, t.optionFacts(s)
}

// defaultCores is what schedules expect of a machine that is not this one.
const defaultCores = 4

// fromHost takes the triple from the host and, if native, its CPU.
func (t *Target) fromHost(h Host, native bool) error {
	if t.Triple == "" {
		t.Triple = h.Triple
	}
	if !native {
		return nil
	}
	a, err := ofTriple(h.Triple)
	if err != nil {
		return err
	}
	if want, err := ofTriple(t.Triple); err != nil || want != a {
		return fmt.Errorf("-mcpu=native is this machine's %s, and the triple is %s", a.Arch, t.Triple)
	}
	if a.Table != h.Machine.Table {
		return fmt.Errorf("a machine of %s cannot be asked for its features by a compiler for %s (name a CPU with -mcpu)", h.Machine.Arch, a.Arch)
	}
	t.CPU, t.Attrs = nameOf(a, h.Machine)
	if h.Cores > 0 {
		t.NumCores = h.Cores
	}
	return nil
}

// applyOptions reads the options that do not name the CPU.
func (t *Target) applyOptions(s *Spec) error {
	if v := s.value("mattr"); v != "" {
		attrs, err := splitAttrs(v)
		if err != nil {
			return err
		}
		t.Attrs = append(t.Attrs, attrs...)
	} else if t.CPU == "" {
		t.Attrs = append(t.Attrs, t.ISA().Attrs...)
	}
	for _, o := range s.Options {
		switch o.Name {
		case "num-cores":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 || n > 4096 {
				return fmt.Errorf("option -num-cores=%s: must be a number from 1 to 4096", o.Value)
			}
			t.NumCores = n
		case "opt-level":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 || n > 3 {
				return fmt.Errorf("option -opt-level=%s: LLVM's code generation level must be 1, 2 or 3 (the compiler's own level is the flag -O)", o.Value)
			}
			t.OptLevel = n
		case "keys", "device", "model":
			t.Remarks = append(t.Remarks, o.Name+"="+o.Value)
		}
	}
	return nil
}

func splitAttrs(v string) ([]string, error) {
	var attrs []string
	for f := range strings.SplitSeq(v, ",") {
		f = strings.TrimSpace(f)
		if len(f) < 2 || f[0] != '+' && f[0] != '-' {
			return nil, fmt.Errorf("option -mattr: %q: write \"+%s\" to add a CPU feature or \"-%s\" to remove it", f, f, f)
		}
		attrs = append(attrs, f)
	}
	return attrs, nil
}
