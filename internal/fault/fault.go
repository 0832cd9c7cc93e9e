// Package fault turns panics into errors: a broken invariant of the compiler ends the work on a model, never the process
// that embeds the compiler.
package fault

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Error is a panic that was caught.
type Error struct {
	Value any    // of the panic
	Where string // functions of this module that were running, the innermost first
	Stack string // for people who mend it
}

// Error is one line.
func (e *Error) Error() string {
	return fmt.Sprintf("internal error, a fault of Lathe and not of the model: %.500v (in %s)", e.Value, e.Where)
}

// Unwrap is the error that was the panic's value, if it was one.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guard runs f and returns its error, or the panic that ended it. Panics of other goroutines are theirs to guard.
func Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = Of(r)
		}
	}()
	return f()
}

// Of makes an error of a recovered value, in the deferred function that recovered it.
func Of(r any) error {
	if e, ok := r.(*Error); ok {
		return e
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var stack strings.Builder
	var where []string
	for {
		f, more := frames.Next()
		fmt.Fprintf(&stack, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		if name, ours := strings.CutPrefix(f.Function, "lathe/"); ours && len(where) < 4 {
			where = append(where, fmt.Sprintf("%s %s:%d", strings.TrimPrefix(name, "internal/"), path.Base(f.File), f.Line))
		}
		if !more {
			break
		}
	}
	if len(where) == 0 {
		where = []string{"unknown"}
	}
	return &Error{Value: r, Where: strings.Join(where, " < "), Stack: stack.String()}
}
