package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"

	"lathe/internal/tool/readjson"
	"lathe/internal/tool/spelling"
)

// Manifest is lathe.json: what the runtime needs to call the library, and where the package came from.
type Manifest struct {
	Format     int               `json:"format"`
	ABI        int               `json:"abi"`
	Lathe      string            `json:"lathe"`  // version of the compiler
	Module     string            `json:"module"` // the library exports lathe_<module>_run
	Target     Target            `json:"target"`
	Options    map[string]string `json:"options,omitempty"` // resolved compile options
	Source     Source            `json:"source"`
	Workspace  int               `json:"workspace"`   // bytes
	Scratch    int               `json:"scratch"`     // bytes per worker
	MaxWorkers int               `json:"max_workers"` // more gain nothing; 0 = any number
	Symbols    int               `json:"symbols"`     // data-dependent dims
	FLOPs      int64             `json:"flops"`       // arithmetic operations of the model as it was given
	Steps      []Step            `json:"steps"`
	Inputs     []TensorInfo      `json:"inputs"`
	Outputs    []TensorInfo      `json:"outputs"`
	Params     []string          `json:"params"` // order of the pointers in the run context
	Notes      []string          `json:"notes,omitempty"`
	Taps       []Tap             `json:"taps,omitempty"`     // what the last outputs are, behind the model's
	External   []External        `json:"external,omitempty"` // regions of external code generators, in the order of their steps
	Digests    map[string]string `json:"digests,omitempty"`  // of members beside the library, see digest.go
}

// A Tap is a tensor of a region that a calibration must see: an output behind those of the model.
type Tap struct {
	Region string `json:"region"` // hash of the region
	Tensor string `json:"tensor"` // name of the model's value
}

// ModelOutputs are the outputs without taps.
func (m *Manifest) ModelOutputs() []TensorInfo { return m.Outputs[:len(m.Outputs)-len(m.Taps)] }

// Target is what the library was compiled for.
type Target struct {
	String   string   `json:"string"`   // as the user wrote it, resolved
	Triple   string   `json:"triple"`   // LLVM's
	CPU      string   `json:"cpu"`      // LLVM's name
	Features []string `json:"features"` // LLVM's names of the features the code needs
}

// Source is the model a package was compiled from.
type Source struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// Step is one top-level step of the run function: a kernel. A barrier precedes it where it touches what others wrote.
type Step struct {
	Name    string   `json:"name"`
	Ops     []string `json:"ops"`     // operators by Relay's names
	Nodes   []string `json:"nodes"`   // nodes of the model
	FLOPs   int64    `json:"flops"`   // arithmetic operations
	Bytes   int64    `json:"bytes"`   // bytes read and written at least
	Workers int      `json:"workers"` // workers that take part; 0 = all
	// A loop runs its body so many times, which the numbers above count. What they would say of one iteration is in the body.
	Trips int    `json:"trips,omitempty"`
	Parts int    `json:"parts,omitempty"` // of a loop whose rows are divided: Trips are the iterations of all parts, each of which one worker runs
	Body  []Step `json:"body,omitempty"`

	// What the compiler chose, for people: nothing depends on it.
	Anchor string            `json:"anchor,omitempty"` // the operator that the others are fused with
	Attrs  []string          `json:"attrs,omitempty"`  // attributes of the operators, in their order
	Choice []string          `json:"choice,omitempty"` // why operators are computed by the algorithms they are
	Rule   string            `json:"rule,omitempty"`   // of the schedule
	Why    string            `json:"why,omitempty"`    // tiles and reasons
	Point  map[string]string `json:"point,omitempty"`  // what was decided, by decision
	// Graph is what was decided before there were kernels, by node and decision.
	Graph     map[string]map[string]string `json:"graph,omitempty"`
	Multiply  string                       `json:"multiply,omitempty"`  // element type of the factors where products are summed
	Constants int64                        `json:"constants,omitempty"` // bytes of constants among Bytes
	Reads     []string                     `json:"reads,omitempty"`     // types of the operands with their layouts; constants are marked by "const "
	Writes    []string                     `json:"writes,omitempty"`    // types of the results
}

func checkSteps(steps []Step) error {
	for i, s := range steps {
		if s.Workers < 0 || s.FLOPs < 0 || s.Bytes < 0 || s.Trips < 0 || s.Parts < 0 {
			return fmt.Errorf("step %d (%q): negative workers, flops, bytes, trips or parts", i, s.Name)
		}
		if err := checkSteps(s.Body); err != nil {
			return fmt.Errorf("step %d (%q): %w", i, s.Name, err)
		}
	}
	return nil
}

// Kernels is the number of kernels of m, those in loops included.
func (m *Manifest) Kernels() (n int) {
	walkSteps(m.Steps, func(s Step) {
		if s.Trips == 0 {
			n++
		}
	})
	return n
}

// ByName are the kernels of m, those in loops included.
func (m *Manifest) ByName() map[string]Step {
	kernels := map[string]Step{}
	walkSteps(m.Steps, func(s Step) {
		if s.Trips == 0 {
			kernels[s.Name] = s
		}
	})
	return kernels
}

// Has reports whether the step, or one of its body, is the kernel of a name.
func (s Step) Has(kernel func(name string) bool) (has bool) {
	walkSteps([]Step{s}, func(s Step) { has = has || kernel(s.Name) })
	return has
}

func walkSteps(steps []Step, visit func(Step)) {
	for _, s := range steps {
		visit(s)
		walkSteps(s.Body, visit)
	}
}

// TensorInfo describes an input or output. Shape is an upper bound where Symbols names a symbol.
type TensorInfo struct {
	Name    string `json:"name"`
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Symbols []int  `json:"symbols,omitempty"` // per dim: index of the symbol that holds its actual extent, or -1
	Meaning
}

// ByteSize returns the bytes of the tensor at its largest.
func (t TensorInfo) ByteSize() (int, error) { return ByteSize(t.DType, t.Shape) }

// RunSymbol is the name of the library's entry point.
func (m *Manifest) RunSymbol() string { return "lathe_" + m.Module + "_run" }

// DigestSymbol is the name of 32 bytes in the library: the digest of the manifest it was written with.
func (m *Manifest) DigestSymbol() string { return "lathe_" + m.Module + "_manifest" }

// LibrarySymbol is the name of the library's descriptor, the lathe_library of include/lathe.h.
func (m *Manifest) LibrarySymbol() string { return "lathe_" + m.Module + "_library" }

// WeightsSymbol is the name of the weights that are linked into a library.
func (m *Manifest) WeightsSymbol() string { return "lathe_" + m.Module + "_weights" }

// LibraryAlias is the descriptor's name in a shared object, whatever its module is called.
const LibraryAlias = "lathe_library"

// Digest identifies what the library relies on: sizes of memory, and types and order of tensors. A library that was built
// with another digest would read or write past the memory this manifest asks for.
func (m *Manifest) Digest() [sha256.Size]byte {
	text := fmt.Sprintf("%d %q %d %d %d %q %q %q", m.ABI, m.Module, m.Workspace, m.Scratch, m.Symbols, tensorTexts(m.Inputs), tensorTexts(m.Outputs), m.Params)
	return sha256.Sum256([]byte(text))
}

func tensorTexts(ts []TensorInfo) []string {
	var list []string
	for _, t := range ts {
		list = append(list, fmt.Sprintf("%s %s %v %v", t.Name, t.DType, t.Shape, t.Symbols))
	}
	return list
}

// Marshal checks m and returns lathe.json: indented, with a stable order of keys.
func (m *Manifest) Marshal() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return b.Bytes(), nil
}

// ParseManifest reads and checks lathe.json. Unknown keys are ignored: they may only add information within a format
// version.
func ParseManifest(b []byte) (*Manifest, error) {
	// The versions decide whether the other keys mean what this build thinks they mean.
	var v struct {
		Format int    `json:"format"`
		ABI    int    `json:"abi"`
		Lathe  string `json:"lathe"`
	}
	if err := readjson.Into(b, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if v.Format != FormatVersion && v.Format != ExternalFormatVersion {
		return nil, fmt.Errorf("%s: package format %d, written by lathe %s; this build reads format %d: recompile the model",
			ManifestName, v.Format, quoteVersion(v.Lathe), ExternalFormatVersion)
	}
	if v.ABI != ABIVersion {
		return nil, fmt.Errorf("%s: ABI %d, written by lathe %s; this build calls ABI %d: recompile the model",
			ManifestName, v.ABI, quoteVersion(v.Lathe), ABIVersion)
	}
	m := new(Manifest)
	if err := readjson.Into(b, m); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return m, nil
}

func quoteVersion(v string) string {
	if v == "" {
		return "(unknown version)"
	}
	return v
}

var moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`)

// Limits on counts that are not bounded by the size of the file.
const (
	maxSymbols = 1 << 20
	maxWorkers = 1 << 16
	maxRank    = 64
)

// formatVersion is the version that m is written in: readers that know no regions of external code generators refuse packages with some.
func (m *Manifest) formatVersion() int {
	if len(m.External) > 0 {
		return ExternalFormatVersion
	}
	return FormatVersion
}

func (m *Manifest) check() error {
	if format := m.formatVersion(); m.Format != format || m.ABI != ABIVersion {
		return fmt.Errorf("format %d, ABI %d instead of %d, %d", m.Format, m.ABI, format, ABIVersion)
	}
	if !moduleName.MatchString(m.Module) {
		return fmt.Errorf("module name %q is not an identifier", m.Module)
	}
	for _, f := range []struct {
		key      string
		val, max int
	}{
		{"workspace", m.Workspace, maxBytes},
		{"scratch", m.Scratch, maxBytes / maxWorkers},
		{"max_workers", m.MaxWorkers, maxWorkers},
		{"symbols", m.Symbols, maxSymbols},
	} {
		if f.val < 0 || f.val > f.max {
			return fmt.Errorf("%s is %d, outside 0..%d", f.key, f.val, f.max)
		}
	}
	if len(m.Taps) > len(m.Outputs) {
		return fmt.Errorf("%s among %s", spelling.Count(len(m.Taps), "tap"), spelling.Count(len(m.Outputs), "output"))
	}
	if err := checkSteps(m.Steps); err != nil {
		return err
	}
	if err := m.checkExternal(); err != nil {
		return err
	}
	if err := m.checkTensors("input", m.Inputs, false); err != nil {
		return err
	}
	if err := m.checkTensors("output", m.Outputs, true); err != nil {
		return err
	}
	return distinct("parameter", m.Params)
}

func (m *Manifest) checkTensors(role string, ts []TensorInfo, symbols bool) error {
	names := make([]string, len(ts))
	total := 0
	for i, t := range ts {
		names[i] = t.Name
		if len(t.Shape) > maxRank {
			return fmt.Errorf("%s %q: %s", role, t.Name, spelling.Count(len(t.Shape), "dimension"))
		}
		n, err := t.ByteSize()
		if err != nil {
			return fmt.Errorf("%s %q: %w", role, t.Name, err)
		}
		if total += n; total > maxBytes {
			return fmt.Errorf("%ss are larger than any memory together", role)
		}
		if err := t.Meaning.check(); err != nil {
			return fmt.Errorf("%s %q: %w", role, t.Name, err)
		}
		if len(t.Symbols) != 0 && (!symbols || len(t.Symbols) != len(t.Shape)) {
			return fmt.Errorf("%s %q: %s for %s", role, t.Name, spelling.Count(len(t.Symbols), "symbol"), spelling.Count(len(t.Shape), "dimension"))
		}
		for _, s := range t.Symbols {
			if s < -1 || s >= m.Symbols {
				return fmt.Errorf("%s %q: symbol %d of %d", role, t.Name, s, m.Symbols)
			}
		}
	}
	return distinct(role, names)
}

// distinct reports the first name that occurs twice.
func distinct(role string, names []string) error {
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		if _, dup := seen[n]; dup {
			return fmt.Errorf("%s %q occurs twice", role, n)
		}
		seen[n] = struct{}{}
	}
	return nil
}
