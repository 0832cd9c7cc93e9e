package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"lathe/internal/tool/spelling"
)

// ExternalABI is the version of include/lathe_external.h that modules are called by.
const ExternalABI = 1

// NativeRuntime is the run-time module of regions that are machine code.
const NativeRuntime = "native"

// An External is a region of the network that an external code generator has compiled: a module that the runtime loads, and the steps
// that compute the same where it cannot.
type External struct {
	Symbol    string    `json:"symbol"`
	Generator string    `json:"generator"` // its name in the target
	Runtime   string    `json:"runtime"`   // of the run-time module that loads the member
	ABI       int       `json:"abi"`
	Member    string    `json:"member"`   // of the package: ext/000_NAME.bin
	SHA256    string    `json:"sha256"`   // of the member
	Fallback  [2]int    `json:"fallback"` // the steps [first,last)
	Inputs    []Operand `json:"inputs"`
	Outputs   []Operand `json:"outputs"`
	// NoFallback says that these steps compute nothing: the package runs only where the module does.
	NoFallback bool `json:"no_fallback,omitempty"`
	// WhenFaster says that the fallback runs where it takes less time, which is found out when the package is opened.
	WhenFaster bool     `json:"when_faster,omitempty"`
	Cycles     int64    `json:"cycles,omitempty"` // that the generator expects of a run
	Nodes      []string `json:"nodes"`            // of the model
}

// An Operand is where a tensor of a region lies, dense and in row-major order.
type Operand struct {
	Memory string `json:"memory"`           // input, output, param or workspace
	Index  int    `json:"index,omitempty"`  // of the input, output or constant
	Offset int    `json:"offset,omitempty"` // in the workspace
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
}

// MemoryNames are the values of Operand.Memory, by PlaceKind.
var MemoryNames = [...]string{InWorkspace: "workspace", InInput: "input", InOutput: "output", InParam: "param", InSymbols: "symbols"}

// ExternalMember is the name of the member of region i.
func ExternalMember(i int, runtime string) string { return fmt.Sprintf("ext/%03d_%s.bin", i, runtime) }

// externalMember is the form of such a name, in which nothing leads out of the package.
var externalMember = regexp.MustCompile(`^ext/[0-9]{3,6}_[A-Za-z][A-Za-z0-9_.-]{0,63}\.bin$`)

// isExternal reports whether a member is that of a region.
func isExternal(member string) bool { return strings.HasPrefix(member, "ext/") }

// checkExternal checks what lathe.json says of regions: they follow each other, and their operands lie in memory that a run has.
func (m *Manifest) checkExternal() error {
	members := make([]string, len(m.External))
	last := 0
	for i, e := range m.External {
		members[i] = e.Member
		if err := m.checkRegion(e, last); err != nil {
			return fmt.Errorf("external region %d (%q): %w", i, e.Symbol, err)
		}
		last = e.Fallback[1]
	}
	return distinct("external member", members)
}

func (m *Manifest) checkRegion(e External, last int) error {
	switch {
	case !externalMember.MatchString(e.Member):
		return fmt.Errorf("member %q is not called ext/000_NAME.bin", e.Member)
	case e.Fallback[0] < last || e.Fallback[1] < e.Fallback[0] || e.Fallback[1] > len(m.Steps):
		return fmt.Errorf("steps [%d,%d) of %d, behind %d", e.Fallback[0], e.Fallback[1], len(m.Steps), last)
	case len(e.Outputs) == 0:
		return errors.New("no outputs")
	case e.Cycles < 0:
		return fmt.Errorf("%d cycles", e.Cycles)
	}
	for i, o := range e.Inputs {
		if err := m.checkOperand(o, i, false); err != nil {
			return err
		}
	}
	for i, o := range e.Outputs {
		if err := m.checkOperand(o, i, true); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) checkOperand(o Operand, i int, written bool) error {
	size, err := ByteSize(o.DType, o.Shape)
	if err != nil {
		return fmt.Errorf("operand %d: %w", i, err)
	}
	if len(o.Shape) > maxRank {
		return fmt.Errorf("operand %d: %s", i, spelling.Count(len(o.Shape), "dimension"))
	}
	of := func(ts []TensorInfo) error {
		if o.Index < 0 || o.Index >= len(ts) {
			return fmt.Errorf("operand %d: %s %d of %d", i, o.Memory, o.Index, len(ts))
		}
		if n, err := ts[o.Index].ByteSize(); err != nil || n != size {
			return fmt.Errorf("operand %d: %s in %s %q of %d", i, spelling.Count(size, "byte"), o.Memory, ts[o.Index].Name, n)
		}
		return nil
	}
	switch o.Memory {
	case "workspace":
		if o.Offset < 0 || o.Offset > m.Workspace || size > m.Workspace-o.Offset {
			return fmt.Errorf("operand %d: bytes from %d on of a workspace of %d", i, o.Offset, m.Workspace)
		}
		return nil
	case "input":
		if !written {
			return of(m.Inputs)
		}
	case "output":
		return of(m.Outputs)
	case "param":
		if written || o.Index < 0 || o.Index >= len(m.Params) {
			return fmt.Errorf("operand %d: constant %d of %d", i, o.Index, len(m.Params))
		}
		return nil
	}
	if o.Memory == MemoryNames[InSymbols] {
		if o.Index < 0 || o.Index >= m.Symbols || size != 8 {
			return fmt.Errorf("operand %d: %s in extent %d of %d", i, spelling.Count(size, "byte"), o.Index, m.Symbols)
		}
		return nil
	}
	return fmt.Errorf("operand %d: a region cannot have it in %q", i, o.Memory)
}

// externalParts are the members of regions, in order.
func (c *Contents) externalParts() ([]part, error) {
	if len(c.External) != len(c.Manifest.External) {
		return nil, fmt.Errorf("%s for %s", spelling.Count(len(c.External), "external module"), spelling.Count(len(c.Manifest.External), "external region"))
	}
	if c.Complete && len(c.External) > 0 {
		return nil, errors.New("regions of external code generators have files beside the library, which has all inside with --embed-params (leave it out)")
	}
	var parts []part
	for i, e := range c.Manifest.External {
		parts = append(parts, bytesPart(e.Member, c.External[i]))
	}
	return parts, nil
}

// ExternalDigest is how lathe.json spells the SHA-256 of a member.
func ExternalDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// MemberDigest is the CRC-32C of a member, as the descriptor of a library holds it.
func MemberDigest(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// besideLibrary is what the member of a region is called beside NAME.so: NAME.000_dnnl.bin.
func besideLibrary(member string) string { return "." + path.Base(member) }

// external finds the members of regions.
func (p *Package) external() error {
	for _, e := range p.Manifest.External {
		b, ok := p.members[e.Member]
		if !ok && p.file != nil {
			var err error
			if b, err = p.mapFile(p.file(e.Member)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: %w", p.called(e.Member), err)
			}
			ok = err == nil
		}
		switch {
		case !ok:
			return p.missing(e.Member)
		case ExternalDigest(b) != e.SHA256:
			return damaged(p.called(e.Member))
		}
		p.External = append(p.External, b)
	}
	return nil
}
