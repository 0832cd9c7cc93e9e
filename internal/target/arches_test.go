package target

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/isa"
)

// Features need features of the table, and code needs nothing that code does not contain: LLVM takes a feature away together
// with what needs it.
func TestFeatureTables(t *testing.T) {
	for _, a := range isas {
		seen := map[string]bool{}
		for _, f := range a.Rows {
			if seen[f.Name] {
				t.Errorf("%s: %s occurs twice", a.Arch, f.Name)
			}
			seen[f.Name] = true
			for n := range strings.FieldsSeq(f.Needs) {
				row := a.Row(n)
				if row == nil {
					t.Errorf("%s: %s needs %s, which has no row", a.Arch, f.Name, n)
				} else if f.Code && !row.Code {
					t.Errorf("%s: code may contain %s, which needs %s, which it may not", a.Arch, f.Name, n)
				}
			}
			if a.Tunes(f.Name) {
				t.Errorf("%s: %s has a row and is taken for tuning", a.Arch, f.Name)
			}
		}
	}
}

// CPUs refer to rows above them and to features that code may contain, and the table has a name for every model once.
func TestProcessors(t *testing.T) {
	for _, a := range isas {
		seen := map[string]bool{"": true}
		for i := range a.CPUs {
			p := &a.CPUs[i]
			if !seen[p.Like] || i == 0 && p.Like != "" {
				t.Errorf("%s: %s is like %q, which is not above it", a.Arch, p.Name, p.Like)
			}
			if seen[p.Name] {
				t.Errorf("%s: %s occurs twice", a.Arch, p.Name)
			}
			seen[p.Name] = true
			for f := range strings.FieldsSeq(p.Features) {
				if row := a.Row(f); row == nil || !row.Code {
					t.Errorf("%s: code does not contain feature %s of %s", a.Arch, f, p.Name)
				}
			}
			family, list, ok := split(p.Models)
			if p.Models != "" && (!ok || len(list) == 0) {
				t.Errorf("%s: models %q of %s", a.Arch, p.Models, p.Name)
			}
			for _, m := range list {
				if !says(p, family, m) || says(p, "Other 06", m) {
					t.Errorf("%s: %s is not found by %q %X", a.Arch, p.Name, family, m)
				}
			}
		}
	}
}

// split reads a row's models in another way than says.
func split(models string) (family string, list []int, ok bool) {
	words := strings.Fields(models)
	if len(words) < 3 {
		return "", nil, false
	}
	for _, w := range words[2:] {
		for _, end := range strings.Split(w, "-") {
			n, err := strconv.ParseUint(end, 16, 12)
			if err != nil {
				return "", nil, false
			}
			list = append(list, int(n))
		}
	}
	return words[0] + " " + words[1], list, true
}

// What an architecture says of itself fits together: its triple and plainest CPU are its own, every CPU has registers and a
// speed, and what asks for a feature asks for one of the table.
func TestISAs(t *testing.T) {
	for i, a := range isas {
		if isaOf(a.Arch) != a || slices.ContainsFunc(isas[:i], func(b *isa.ISA) bool { return b.Arch == a.Arch }) {
			t.Errorf("%s: two have this name", a.Arch)
		}
		if got, err := ofTriple(a.Triple); got != a || err != nil {
			t.Errorf("%s: its triple %s is of another, %v", a.Arch, a.Triple, err)
		}
		if find(a.CPUs, a.Generic) == nil {
			t.Errorf("%s: no row for %s", a.Arch, a.Generic)
		}
		known := func(f string) {
			if row := a.Row(f); row == nil || !row.Code {
				t.Errorf("%s: code does not contain %s, which is asked for", a.Arch, f)
			}
		}
		asked := func(has map[string]bool) func(string) bool {
			return func(f string) bool {
				if !a.Tunes(f) && a.Row(f) == nil {
					t.Errorf("%s: there is no %s", a.Arch, f)
				}
				return has[f]
			}
		}
		for _, name := range append(CPUs(a.Arch), "no CPU") {
			set, _ := featuresOf(a, name)
			v := a.Vectors(asked(set))
			if v.Bits < 128 || v.Regs < 4 || v.SignedDot && !v.Dot {
				t.Errorf("%s: %s has vectors %+v", a.Arch, name, v)
			}
			if a.Instructions.Half != nil {
				a.Instructions.Half(asked(set))
			}
			if a.Emulator.CPU != nil {
				a.Emulator.CPU(asked(set), v.Bits)
			}
		}
		for _, f := range facts {
			if c := ClassOf(a.Arch, 0); *f.field(&c) < f.least && f.name != "datapath" {
				t.Errorf("%s: no %s", a.Arch, f.name)
			}
		}
		for _, change := range a.Attrs {
			known(change[1:])
		}
		for f := range strings.FieldsSeq(strings.Join([]string{a.Required, a.Instructions.Rounds}, " ")) {
			known(f)
		}
		for _, d := range slices.Concat(a.Instructions.Dots, a.Instructions.Pairs) {
			for _, f := range d.Features {
				for f := range strings.FieldsSeq(f) {
					known(f)
				}
			}
		}
		for _, name := range a.Emulator.CPUs {
			if find(a.CPUs, name) == nil {
				t.Errorf("%s: the emulator's CPU %s has no row", a.Arch, name)
			}
		}
		if !a.OneWorker && a.Instructions.Pause == "" {
			t.Errorf("%s: workers that wait for each other have nothing to do", a.Arch)
		}
		for _, r := range a.Instructions.Routines {
			if r.Uses != "" && !slices.ContainsFunc(a.Instructions.Routines, func(o isa.Routine) bool { return o.Name == r.Uses }) || !strings.Contains(r.Text, "@"+r.Name+"(") {
				t.Errorf("%s: routine %s", a.Arch, r.Name)
			}
		}
		for _, l := range a.Levels {
			set, ok := featuresOf(a, l.Name)
			if level := a.LevelOf(func(name string) bool { return set[name] }); !ok || level != l.Name {
				t.Errorf("the row of %s is of level %s", l.Name, level)
			}
		}
	}
}
