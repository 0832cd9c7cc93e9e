// Package pipeline runs tables of passes over an IR: it verifies after each, names the pass in every error and panic,
// times, dumps, stops and disables. It knows no IR.
package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lathe/internal/fault"
)

// A Pass is a row of a pipeline.
type Pass[T any] struct {
	Name     string // Relay's name where Relay has the pass
	Level    int    // runs from this -O level on
	Required bool   // cannot be disabled
	Doc      string // one sentence
	Run      func(T) error
}

// An Order says that a pass must come before another one, and why. A test holds tables to it.
type Order struct{ Before, After, Why string }

// Options controls a run.
type Options[T any] struct {
	Level    int
	Disabled []string
	StopAt   string          // end after this pass
	Context  context.Context // nil: nothing ends the run
	Verify   func(T) error
	Print    func(T) string // for panics
	// Before and After see the IR around every pass that runs.
	Before func(name string, ir T)
	After  func(name string, ir T, took time.Duration)
}

// Runs reports whether the pass runs under o.
func (p Pass[T]) Runs(o Options[T]) bool {
	return p.Required || o.Level >= p.Level && !slices.Contains(o.Disabled, p.Name)
}

// Run runs the table on ir. On failure the IR is in an undefined state.
func Run[T any](table []Pass[T], ir T, o Options[T]) error {
	for _, p := range table {
		if !p.Runs(o) {
			continue
		}
		if o.Context != nil && o.Context.Err() != nil {
			return o.Context.Err()
		}
		if o.Before != nil {
			o.Before(p.Name, ir)
		}
		start := time.Now()
		if err := guarded(p, ir); err != nil {
			return err
		}
		took := time.Since(start)
		if o.Verify != nil {
			if err := fault.Guard(func() error { return o.Verify(ir) }); err != nil {
				return fmt.Errorf("after pass %s: %w", p.Name, err)
			}
		}
		if o.After != nil {
			o.After(p.Name, ir, took)
		}
		if p.Name == o.StopAt {
			return nil
		}
	}
	return nil
}

// guarded turns a panic of the pass into an error that names it: a broken invariant of the compiler, not of the model.
func guarded[T any](p Pass[T], ir T) error {
	if err := fault.Guard(func() error { return p.Run(ir) }); err != nil {
		return fmt.Errorf("pass %s: %w", p.Name, err)
	}
	return nil
}

// CheckOrder reports every constraint the table breaks.
func CheckOrder[T any](table []Pass[T], order []Order) error {
	at := func(name string) int {
		return slices.IndexFunc(table, func(p Pass[T]) bool { return p.Name == name })
	}
	var broken []string
	for _, o := range order {
		b, a := at(o.Before), at(o.After)
		if b < 0 || a < 0 || b >= a {
			broken = append(broken, fmt.Sprintf("%s must run before %s: %s", o.Before, o.After, o.Why))
		}
	}
	if broken != nil {
		return fmt.Errorf("%s", strings.Join(broken, "\n"))
	}
	return nil
}
