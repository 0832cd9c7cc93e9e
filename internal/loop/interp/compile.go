package interp

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/loop"
)

// top compiles a statement outside of parallel loops: what is no parallel loop runs for worker 0.
func (m *machine) top(s loop.Stmt) (step, error) {
	switch s := s.(type) {
	case *loop.Seq:
		return m.seq(s, m.top)
	case *loop.For:
		if s.Kind == loop.Parallel {
			return m.share(s)
		}
		if loop.Divided(s.Body) {
			return m.each(s)
		}
	case *loop.Let:
		return m.let(s, m.top)
	case *loop.Alloc:
		mem, err := m.alloc(s)
		if err != nil {
			return nil, err
		}
		m.around = append(m.around, mem)
		body, err := m.top(s.Body)
		m.around = m.around[:len(m.around)-1]
		return func(slots []uint64) { mem.forget(); body(slots) }, err
	}
	body, err := m.stmt(s)
	return func(slots []uint64) {
		if m.worker == 0 {
			body(slots)
		}
	}, err
}

func (m *machine) seq(s *loop.Seq, compile func(loop.Stmt) (step, error)) (step, error) {
	steps := make([]step, len(s.List))
	for i, t := range s.List {
		var err error
		if steps[i], err = compile(t); err != nil {
			return nil, err
		}
	}
	return func(slots []uint64) {
		for _, step := range steps {
			step(slots)
		}
	}, nil
}

func (m *machine) stmt(s loop.Stmt) (step, error) {
	switch s := s.(type) {
	case *loop.Seq:
		return m.seq(s, m.stmt)
	case *loop.For:
		return m.loop(s)
	case *loop.If:
		return m.condition(s)
	case *loop.Let:
		return m.let(s, m.stmt)
	case *loop.Alloc:
		mem, err := m.alloc(s)
		if err != nil {
			return nil, err
		}
		body, err := m.stmt(s.Body)
		return func(slots []uint64) { mem.forget(); body(slots) }, err
	case *loop.Store:
		here, run := m.site(s), step(nil)
		run, err := m.store(s)
		return func(slots []uint64) { m.at = here; run(slots) }, err
	case *loop.Prefetch:
		return func([]uint64) {}, nil
	case *loop.Block:
		return m.block(s)
	}
	return nil, fmt.Errorf("no statement: %T", s)
}

func (m *machine) site(s loop.Stmt) *site { return &site{s, slices.Clone(m.scope)} }

// bound runs f with v in scope and returns v's slot.
func (m *machine) bound(v *expr.Var, f func() error) (slot int, err error) {
	slot = m.compiler.Slot(v)
	m.scope = append(m.scope, v)
	err = f()
	m.scope = m.scope[:len(m.scope)-1]
	return slot, err
}

// bounds compiles the bounds of a loop.
func (m *machine) bounds(f *loop.For) (lo, n eval.Code, err error) {
	if lo, err = m.compiler.Compile(f.Min); err != nil {
		return nil, nil, err
	}
	n, err = m.compiler.Compile(f.Extent)
	return lo, n, err
}

func (m *machine) loop(f *loop.For) (step, error) {
	lo, n, err := m.bounds(f)
	if err != nil {
		return nil, err
	}
	here := m.site(f)
	var body step
	slot, err := m.bound(f.Var, func() (err error) {
		body, err = m.stmt(f.Body)
		return err
	})
	around := m.forgotten(f)
	return func(slots []uint64) {
		m.at = here
		first, count := lo(slots), int64(n(slots))
		for i := range count {
			for _, mem := range around {
				mem.forget()
			}
			slots[slot] = first + uint64(i)
			body(slots)
		}
	}, err
}

// forgotten is the scratch around f that no iteration may find values in, because another worker may run the one before.
func (m *machine) forgotten(f *loop.For) []*memory {
	if f.Kind != loop.Parallel {
		return nil
	}
	return slices.Clone(m.around)
}

// each compiles a serial loop around parallel ones: every worker runs all its iterations.
func (m *machine) each(f *loop.For) (step, error) {
	lo, n, err := m.bounds(f)
	if err != nil {
		return nil, err
	}
	var body step
	slot, err := m.bound(f.Var, func() (err error) {
		body, err = m.top(f.Body)
		return err
	})
	return func(slots []uint64) {
		first := lo(slots)
		for i := range max(0, int64(n(slots))) {
			slots[slot] = first + uint64(i)
			body(slots)
		}
	}, err
}

// share compiles a parallel loop to the iterations of the machine's worker, a contiguous run.
func (m *machine) share(f *loop.For) (step, error) {
	lo, n, err := m.bounds(f)
	if err != nil {
		return nil, err
	}
	here := m.site(f)
	var body step
	slot, err := m.bound(f.Var, func() (err error) {
		body, err = m.stmt(f.Body)
		return err
	})
	around := m.forgotten(f)
	return func(slots []uint64) {
		m.at = here
		first, count := lo(slots), uint64(max(0, int64(n(slots))))
		share := func(w uint64) uint64 { return (count*w + m.workers - 1) / m.workers } // rounded up as in the code that is generated
		for i := share(m.worker); i < share(m.worker+1); i++ {
			for _, mem := range around {
				mem.forget()
			}
			slots[slot] = first + i
			body(slots)
		}
	}, err
}

func (m *machine) condition(s *loop.If) (step, error) {
	cond, err := m.compiler.Compile(s.Cond)
	if err != nil {
		return nil, err
	}
	yes, err := m.stmt(s.Then)
	if err != nil {
		return nil, err
	}
	no := step(func([]uint64) {})
	if s.Else != nil {
		if no, err = m.stmt(s.Else); err != nil {
			return nil, err
		}
	}
	here := m.site(s)
	return func(slots []uint64) {
		m.at = here
		if cond(slots) != 0 {
			yes(slots)
		} else {
			no(slots)
		}
	}, nil
}

func (m *machine) let(s *loop.Let, compile func(loop.Stmt) (step, error)) (step, error) {
	value, err := m.compiler.Compile(s.Value)
	if err != nil {
		return nil, err
	}
	here := m.site(s)
	var body step
	slot, err := m.bound(s.Var, func() (err error) {
		body, err = compile(s.Body)
		return err
	})
	return func(slots []uint64) {
		m.at = here
		slots[slot] = value(slots)
		body(slots)
	}, err
}

func (m *machine) alloc(s *loop.Alloc) (*memory, error) {
	n, err := span(s.Buffer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Buffer.Name, err)
	}
	mem := newMemory(s.Buffer, make([]byte, n*s.Buffer.DType.Size()), make([]bool, n))
	m.memory[s.Buffer] = mem
	return mem, nil
}

// block binds the iteration variables, and runs init where all reduction variables are 0, then the body.
func (m *machine) block(b *loop.Block) (step, error) {
	bindings := make([]eval.Code, len(b.Iters))
	slots := make([]int, len(b.Iters))
	for i, it := range b.Iters {
		var err error
		if bindings[i], err = m.compiler.Compile(it.Binding); err != nil {
			return nil, err
		}
	}
	for i, it := range b.Iters {
		slots[i] = m.compiler.Slot(it.Var)
		m.scope = append(m.scope, it.Var)
	}
	here := m.site(b)
	m.scope = m.scope[:len(m.scope)-len(b.Iters)]
	where := func([]uint64) uint64 { return 1 }
	if b.Where != nil {
		code, err := m.compiler.Compile(b.Where)
		if err != nil {
			return nil, err
		}
		where = code
	}
	init := step(func([]uint64) {})
	if b.Init != nil {
		var err error
		if init, err = m.store(b.Init); err != nil {
			return nil, err
		}
	}
	body, err := m.store(b.Body)
	values := make([]uint64, len(b.Iters))
	return func(s []uint64) {
		m.at = here
		for i, bind := range bindings {
			values[i] = bind(s)
		}
		first := true
		for i, v := range values {
			s[slots[i]] = v
			first = first && (v == 0 || !b.Iters[i].Reduce)
		}
		if where(s) == 0 {
			return
		}
		for i, v := range values {
			if v >= uint64(b.Iters[i].Extent) {
				failf("block %s: %s = %d is outside of 0..%d", b.Name, b.Iters[i].Var.Name, int64(v), b.Iters[i].Extent)
			}
		}
		if first {
			init(s)
		}
		body(s)
	}, err
}
