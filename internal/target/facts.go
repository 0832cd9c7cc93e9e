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

// facts are the options, with the range of their values.
var facts = []struct {
	name        string
	least, most int
	field       func(t *Target) *int
}{
	{"clock", 1, 100_000, func(t *Target) *int { return &t.Clock }},
	{"datapath", 32, 1 << 16, func(t *Target) *int { return &t.Datapath }},
}

// maxCache is in KiB.
const maxCache = 8 << 20

func (t *Target) setCaches(c caches) { t.L1, t.L2, t.L3 = c.L1<<10, c.L2<<10, c.L3<<10 }

// rowFacts are those of the CPU's name.
func (t *Target) rowFacts() {
	tab := tables[t.Arch]
	t.setCaches(tab.cachesOf(t.CPU))
	t.Clock = cmp.Or(tab.first(t.CPU, func(p *processor) int { return p.clock }), archClocks[t.Arch])
	t.Datapath = tab.first(t.CPU, func(p *processor) int { return p.datapath })
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
			*f.field(t) = n
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
		if n := *f.field(t); n != *f.field(&row) {
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
