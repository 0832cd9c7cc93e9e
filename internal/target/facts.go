package target

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/cpu"
)

// Facts are numbers of the machine that costs are computed with. They come from the CPU's row, for the native target from
// the machine where it tells, and from options; the canonical string names those that the row does not give.

// A Core is what one core does in a cycle. In a row, 0 is what the CPU named by like has, and in the end its class.
type Core struct {
	Clock    int // MHz to expect under load
	Datapath int // bits of a vector that arithmetic takes at once; 0: all
	Units    int // vector operations that begin in a cycle: multiply-adds, or products and sums where those are two
	Loads    int // vectors that a cycle loads from L1
	Latency  int // cycles from one multiply-add to the next of the same sum
	L2Rate   int // bytes a cycle that a core reads from its L2
	L3Rate   int // and from L3
	Memory   int // MB/s that one core reads from memory
}

// facts are the options of a core's numbers, with the range of their values.
var facts = []struct {
	name        string
	least, most int
	field       func(c *Core) *int
}{
	{"clock", 1, 100_000, func(c *Core) *int { return &c.Clock }},
	{"datapath", 32, 1 << 16, func(c *Core) *int { return &c.Datapath }},
	{"fma-units", 1, 64, func(c *Core) *int { return &c.Units }},
	{"fma-latency", 1, 64, func(c *Core) *int { return &c.Latency }},
	{"load-units", 1, 64, func(c *Core) *int { return &c.Loads }},
	{"l2-rate", 1, 4096, func(c *Core) *int { return &c.L2Rate }},
	{"l3-rate", 1, 4096, func(c *Core) *int { return &c.L3Rate }},
	{"memory-rate", 1, 1_000_000, func(c *Core) *int { return &c.Memory }},
}

// Facts lists the options of a core's numbers.
func Facts() []string {
	var names []string
	for _, f := range facts {
		names = append(names, f.name)
	}
	return names
}

// Fact is the number that an option of Facts sets.
func (t *Target) Fact(name string) int {
	for _, f := range facts {
		if f.name == name {
			return *f.field(&t.Core)
		}
	}
	return 0
}

// classes are the cores of CPUs whose rows and machines do not tell.
var classes = map[Arch]Core{
	X86:     {Clock: 3200, Units: 2, Loads: 2, Latency: 4, L2Rate: 32, L3Rate: 12, Memory: 20_000},
	AArch64: {Clock: 2200, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000},
	ARM:     {Clock: 1500, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000},
	RISCV64: {Clock: 1600, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000},
	WASM32:  {Clock: 2500, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000},
	CSource: {Clock: 400, Units: 2, Loads: 2, Latency: 4, L2Rate: 16, L3Rate: 8, Memory: 8_000},
}

// ClassOf is the core that is expected of an architecture where nothing else is known but the width of vectors: those of 512
// bits come with the memory of servers.
func ClassOf(a Arch, vectorBits int) Core {
	c := classes[a]
	if vectorBits == 512 {
		c.Memory = 30_000
	}
	return c
}

// maxCache is in KiB.
const maxCache = 8 << 20

func (t *Target) setCaches(c caches) { t.L1, t.L2, t.L3 = c.L1<<10, c.L2<<10, c.L3<<10 }

// rowFacts are those of the CPU's name and of its class.
func (t *Target) rowFacts() {
	tab := tables[t.Arch]
	t.setCaches(tab.cachesOf(t.CPU))
	t.Core = ClassOf(t.Arch, t.VectorBits)
	for _, f := range facts {
		n := f.field(&t.Core)
		*n = cmp.Or(tab.first(t.CPU, func(p *processor) int { return *f.field(&p.core) }), *n)
	}
}

// machineFacts are what the machine tells.
func (t *Target) machineFacts(m *cpu.Machine) {
	if m.Caches != (cpu.Caches{}) {
		t.setCaches(caches(m.Caches))
	}
	t.Clock = cmp.Or(m.Clock, t.Clock)
	t.Datapath = cmp.Or(m.Datapath, t.Datapath)
}

// optionFacts are what the user says.
func (t *Target) optionFacts(s *Spec) error {
	for _, f := range facts {
		if v := s.value(f.name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < f.least || n > f.most {
				return fmt.Errorf("option -%s=%s: must be a number from %d to %d", f.name, v, f.least, f.most)
			}
			*f.field(&t.Core) = n
		}
	}
	v := s.value("caches")
	if v == "" {
		return nil
	}
	var sizes []int
	for word := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 || n > maxCache {
			break
		}
		sizes = append(sizes, n)
	}
	if len(sizes) != 3 || strings.Count(v, ",") != 2 || sizes[0] == 0 || sizes[1] == 0 {
		return fmt.Errorf("option -caches=%s: must be three numbers of KiB, L1 and L2 of a core and its share of L3 or 0: -caches=48,2048,1920", v)
	}
	t.setCaches(caches{L1: sizes[0], L2: sizes[1], L3: sizes[2]})
	return nil
}

// factWords are the options that make the CPU's row these facts.
func (t *Target) factWords() string {
	row := *t
	row.rowFacts()
	var b strings.Builder
	if row.L1 != t.L1 || row.L2 != t.L2 || row.L3 != t.L3 {
		fmt.Fprintf(&b, " -caches=%d,%d,%d", t.L1>>10, t.L2>>10, t.L3>>10)
	}
	for _, f := range facts {
		if n := *f.field(&t.Core); n != *f.field(&row.Core) {
			fmt.Fprintf(&b, " -%s=%d", f.name, n)
		}
	}
	return b.String()
}

// name is what a machine is called: by a CPU's name where it says to be that model and code may contain on it precisely what
// the name implies, and else by the plainest name with its features. Hypervisors hide features, and say to be models that the
// processor is not.
func (t *table) name(m *cpu.Machine) (name string, attrs []string) {
	has := m.Code(m.Set())
	for _, p := range t.cpus {
		if implied, _ := t.featuresOf(p.name); p.says(m.Family, m.Model) && slices.Equal(t.isa.Code(implied), has) {
			return p.name, nil
		}
	}
	name = t.generic
	if t == &x86Table {
		name = cpu.LevelOf(m.Has)
	}
	implied, _ := t.featuresOf(name)
	for _, f := range t.isa.Code(implied) {
		if !m.Has(f) {
			attrs = append(attrs, "-"+f)
		}
	}
	for _, f := range has {
		if !implied[f] {
			attrs = append(attrs, "+"+f)
		}
	}
	return name, attrs
}

// says reports whether a model is one of the row's.
func (p *processor) says(family string, model int) bool {
	list, ok := strings.CutPrefix(p.models, family+" ")
	if !ok || family == "" {
		return false
	}
	for word := range strings.FieldsSeq(list) {
		low, high, isRange := strings.Cut(word, "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.ParseInt(low, 16, 32)
		b, err2 := strconv.ParseInt(high, 16, 32)
		if err1 == nil && err2 == nil && int(a) <= model && model <= int(b) {
			return true
		}
	}
	return false
}
