// Package interp runs loop IR one scalar at a time: the meaning that schedules, passes and code generation must keep.
//
// It checks what generated code does not: indices against shapes, domains of blocks, and reads of scratch memory that was
// never written. It is for tests and tools, not for speed.
package interp

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/loop"
	"lathe/internal/tensor"
)

// Run executes f on args, the storage of its parameters in order: each has the parameter's element type and at least as
// many elements as the parameter spans in memory, in physical order. It does what the generated code does for each of
// workers in turn, the last first: parallel loops run the worker's share, and other statements outside of them run for
// worker 0 only. So data that crosses workers is not there, as it may not be there at run time.
func Run(f *loop.Func, args []*tensor.Tensor, workers int) error {
	if workers < 1 {
		return fmt.Errorf("interp: %d workers", workers)
	}
	if err := loop.Verify(f); err != nil {
		return err
	}
	m := &machine{workers: uint64(workers), memory: map[*loop.Buffer]*memory{}}
	if err := m.bindParams(f, args); err != nil {
		return fmt.Errorf("interp: function %s: %w", f.Name, err)
	}
	m.compiler.Load = m.load
	body, err := m.top(f.Body)
	if err != nil {
		return fmt.Errorf("interp: function %s: %w", f.Name, err)
	}
	for w := workers - 1; w >= 0; w-- {
		m.worker = uint64(w)
		if err := m.run(body); err != nil {
			return fmt.Errorf("interp: function %s: %w", f.Name, err)
		}
	}
	return nil
}

// A step executes a statement with the values of variables.
type step func(slots []uint64)

type machine struct {
	compiler eval.Compiler
	memory   map[*loop.Buffer]*memory
	around   []*memory // scratch allocated outside of parallel loops
	scope    []*expr.Var

	worker, workers uint64
	at              *site // where execution is, for messages
}

// A site is a statement and the variables around it.
type site struct {
	stmt  loop.Stmt
	scope []*expr.Var
}

// A fault is an error of the executed program; closures panic with it.
type fault struct{ err error }

func failf(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

func (m *machine) run(body step) (err error) {
	slots := make([]uint64, m.compiler.Slots())
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = m.describe(f.err, slots)
		}
	}()
	body(slots)
	return nil
}

// describe adds the statement and the values of the variables around it.
func (m *machine) describe(err error, slots []uint64) error {
	if m.at == nil {
		return err
	}
	var values []string
	for _, v := range m.at.scope {
		if v.Type.IsInt() {
			values = append(values, fmt.Sprintf("%s = %d", v.Name, int64(slots[m.compiler.Slot(v)])))
		}
	}
	text, _, _ := strings.Cut(loop.StmtString(m.at.stmt), "\n")
	if values != nil {
		text += "\n  with " + strings.Join(values, ", ")
	}
	return fmt.Errorf("%w, in:\n  %s", err, text)
}

func (m *machine) bindParams(f *loop.Func, args []*tensor.Tensor) error {
	if len(args) != len(f.Params) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), len(f.Params))
	}
	for i, b := range f.Params {
		a := args[i]
		if a == nil {
			return fmt.Errorf("no argument for %s", b.Name)
		}
		if a.DType != b.DType {
			return fmt.Errorf("%s is %s, its argument %s", b.Name, b.DType, a.DType)
		}
		n, err := span(b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if a.Size() < b.DType.Bytes(n) {
			return fmt.Errorf("%s spans %d elements, its argument has %d", b.Name, n, a.Size()/b.DType.Size())
		}
		m.memory[b] = newMemory(b, a.Bytes(), nil)
	}
	return nil
}

// maxSpan bounds the elements of a buffer: scratch is allocated for all of them.
const maxSpan = 1 << 28

// span is the number of elements between the first and the last of b, both included.
func span(b *loop.Buffer) (int, error) {
	n := 1
	for i, s := range b.Strides() {
		if b.Shape[i] == 0 {
			return 0, nil
		}
		if s > maxSpan || b.Shape[i] > maxSpan {
			return 0, errors.New("too large")
		}
		n += (b.Shape[i] - 1) * s
		if n < 0 || n > maxSpan {
			return 0, errors.New("too large")
		}
	}
	return n, nil
}
