package target

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/cpu"
	"lathe/internal/isa"
)

// Facts are numbers of the machine that costs are computed with. They come from the CPU's row, for the native target from
// the machine where it tells, and from options; the canonical string names those that the row does not give.

// Core is what one core does in a cycle.
type Core = isa.Core

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
	{"reclaim-rate", 1, 1_000_000, func(c *Core) *int { return &c.Reclaim }},
	{"streams", 1, 64, func(c *Core) *int { return &c.Streams }},
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

// ClassOf is the core that is expected of an architecture where nothing else is known but the width of vectors: those of 512
// bits come with the memory of servers.
func ClassOf(a Arch, vectorBits int) Core {
	c := isaOf(a).Core
	if vectorBits == 512 {
		c.Memory = 30_000
	}
	return c
}

// maxCache is in KiB.
const maxCache = 8 << 20

// unknownCaches are those of a CPU of which nothing is known.
var unknownCaches = [3]int{32, 256, 0}

// setCaches takes KiB.
func (t *Target) setCaches(l1, l2, l3 int) { t.L1, t.L2, t.L3 = l1<<10, l2<<10, l3<<10 }

// rowFacts are those of the CPU's name and of its class.
func (t *Target) rowFacts() {
	a := t.ISA()
	c := cmp.Or(first(a, t.CPU, func(p *isa.Processor) [3]int { return p.Caches }), unknownCaches)
	t.setCaches(c[0], c[1], c[2])
	t.Core = ClassOf(t.Arch, t.VectorBits)
	for _, f := range facts {
		n := f.field(&t.Core)
		*n = cmp.Or(first(a, t.CPU, func(p *isa.Processor) int { return *f.field(&p.Core) }), *n)
	}
}

// cachesOf are what the machine tells of its caches. A guest is told the L3 of all cores of the processor, however few of them it has: its share is at
// most that of the CPU's row.
func (t *Target) cachesOf(m *cpu.Machine) cpu.Caches {
	c := m.Caches
	if row := first(t.ISA(), t.kinOf(m), func(p *isa.Processor) [3]int { return p.Caches }); m.Guest && row[2] > 0 {
		c.L3 = min(c.L3, row[2])
	}
	return c
}

// machineFacts are what the machine tells, and for the rest those of its kin.
func (t *Target) machineFacts(m *cpu.Machine) {
	if kin := t.kinOf(m); kin != t.CPU {
		for _, f := range facts {
			n := f.field(&t.Core)
			*n = cmp.Or(first(t.ISA(), kin, func(p *isa.Processor) int { return *f.field(&p.Core) }), *n)
		}
	}
	if c := t.cachesOf(m); c != (cpu.Caches{}) {
		t.setCaches(c.L1, c.L2, c.L3)
	}
	t.Clock = cmp.Or(m.Clock, t.Clock)
	t.Datapath = cmp.Or(m.Datapath, t.Datapath)
}

// kinOf is the CPU whose facts are expected of a machine: the one that it is named by, where that is a model and no level of the architecture. Of a machine
// that hides features of its model it is the model; of one that has others, or whose model is not known, the one of the maker's CPUs with the most features that
// the machine has all of, and among equals the first whose own caches are nearest.
func (t *Target) kinOf(m *cpu.Machine) string {
	a := t.ISA()
	maker, _, _ := strings.Cut(m.Family, " ")
	if p := find(a.CPUs, t.CPU); p == nil || p.Models != "" || maker == "" {
		return t.CPU
	}
	has := m.Code(m.Set())
	kin, most, least := t.CPU, 0, 0.0
	for i := range a.CPUs {
		p := &a.CPUs[i]
		if !strings.HasPrefix(p.Models, maker+" ") {
			continue
		}
		implied, _ := featuresOf(a, p.Name)
		if says(p, m.Family, m.Model) && !slices.ContainsFunc(has, func(f string) bool { return !implied[f] }) {
			return p.Name
		}
		code := a.Code(implied)
		if slices.ContainsFunc(code, func(f string) bool { return !m.Has(f) }) {
			continue
		}
		caches := first(a, p.Name, func(p *isa.Processor) [3]int { return p.Caches })
		away := apart(caches[0], m.Caches.L1) + apart(caches[1], m.Caches.L2)
		if len(code) > most || len(code) == most && away < least {
			kin, most, least = p.Name, len(code), away
		}
	}
	return kin
}

// apart is by how many times two sizes differ, as a logarithm; 0 where one is not known.
func apart(a, b int) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return math.Abs(math.Log(float64(a) / float64(b)))
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
	t.setCaches(sizes[0], sizes[1], sizes[2])
	return nil
}

// factWords are the options that make the CPU's row these facts.
func (t *Target) factWords() string {
	row := *t
	row.rowFacts()
	var b strings.Builder
	if row.L1 != t.L1 || row.L2 != t.L2 || row.L3 != t.L3 {
		b.WriteString(" " + t.cachesWord())
	}
	for _, f := range facts {
		if n := *f.field(&t.Core); n != *f.field(&row.Core) {
			fmt.Fprintf(&b, " -%s=%d", f.name, n)
		}
	}
	return b.String()
}

// nameOf is what a machine is called: by a CPU's name where it says to be that model and code may contain on it precisely what
// the name implies, and else by the plainest name with its features. Hypervisors hide features, and say to be models that the
// processor is not.
func nameOf(a *isa.ISA, m *cpu.Machine) (name string, attrs []string) {
	has := m.Code(m.Set())
	for i := range a.CPUs {
		p := &a.CPUs[i]
		if implied, _ := featuresOf(a, p.Name); says(p, m.Family, m.Model) && slices.Equal(a.Code(implied), has) {
			return p.Name, nil
		}
	}
	name = a.LevelOf(m.Has)
	implied, _ := featuresOf(a, name)
	for _, f := range a.Code(implied) {
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
func says(p *isa.Processor, family string, model int) bool {
	list, ok := strings.CutPrefix(p.Models, family+" ")
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
