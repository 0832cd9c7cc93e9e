package isa

import (
	"maps"
	"slices"
	"strings"
)

// A Feature is an instruction set, or a part of one that some machines lack.
type Feature struct {
	Name  string // LLVM's
	Needs string // features of the table that it includes or builds on, separated by blanks
	Word  int    // which of the machine's words tells
	Bit   uint
	State uint64 // bits of XCR0 that the system must have set: it saves the registers
	Code  bool   // generated code may contain it: LLVM chooses its instructions by itself, or the emitter names them
}

// A Table is what is known of an architecture's features, and all that a runtime needs to know of one.
type Table struct {
	Arch    Arch
	Triple  string // a usual one
	Generic string // CPU of a triple without -mcpu: the plainest
	Rows    []Feature
	// Base are features that LLVM has on beside the rows: those of every machine, and parts of rows.
	Base []string
	// Tuning are the beginnings of features that choose between correct instructions.
	Tuning []string
	// Levels are CPUs that stand for no machine but for what many have, the lowest first; none where only Generic does.
	Levels []Level
	// OnRequest are the bits of XCR0 of registers that Linux lets a process use only after it asked.
	OnRequest uint64
}

// A Level is LLVM's name of a CPU and what code may contain on it beyond the next lower one.
type Level struct{ Name, Features string }

// Words of the systems whose kernel tells features: AT_HWCAP and AT_HWCAP2 of the auxiliary vector, which are right under an
// emulator too, and one that is read elsewhere.
const (
	HWCAP = iota
	HWCAP2
	Other
)

// Row returns the row of a feature, nil where the table has none.
func (t *Table) Row(name string) *Feature {
	for i := range t.Rows {
		if t.Rows[i].Name == name {
			return &t.Rows[i]
		}
	}
	return nil
}

// Names lists the features that code may contain, or all.
func (t *Table) Names(all bool) []string {
	var names []string
	for _, f := range t.Rows {
		if f.Code || all {
			names = append(names, f.Name)
		}
	}
	return names
}

// Set is a set of features.
type Set map[string]bool

// Enable adds a feature with all it needs.
func (t *Table) Enable(s Set, name string) {
	if s[name] {
		return
	}
	s[name] = true
	if f := t.Row(name); f != nil {
		for n := range strings.FieldsSeq(f.Needs) {
			t.Enable(s, n)
		}
	}
}

// Disable removes a feature with all that need it.
func (t *Table) Disable(s Set, name string) {
	delete(s, name)
	for _, f := range t.Rows {
		if s[f.Name] && slices.Contains(strings.Fields(f.Needs), name) {
			t.Disable(s, f.Name)
		}
	}
}

// Code keeps of a set what generated code may contain, sorted.
func (t *Table) Code(s Set) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(name string) bool {
		f := t.Row(name)
		return f == nil || !f.Code
	})
}

// Tunes reports whether a feature outside the table may be handed to LLVM: it is of every machine, or adds no instructions.
func (t *Table) Tunes(name string) bool {
	return slices.Contains(t.Base, name) || slices.ContainsFunc(t.Tuning, func(p string) bool { return strings.HasPrefix(name, p) })
}

// LevelOf returns the highest level whose features are all there.
func (t *Table) LevelOf(has func(name string) bool) string {
	best := t.Generic
	for _, l := range t.Levels {
		s := Set{}
		for f := range strings.FieldsSeq(l.Features) {
			t.Enable(s, f)
		}
		for f := range s {
			if !has(f) {
				return best
			}
		}
		best = l.Name
	}
	return best
}
