package sched

import (
	"fmt"

	"lathe/internal/loop"
)

// Apply runs the steps of a trace, in order. It stops at the first that does not apply, with the earlier ones done.
func (s *Schedule) Apply(steps []Step) error {
	for i, t := range steps {
		if err := s.step(t); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// step runs one step. The names are those that the primitives log.
func (s *Schedule) step(t Step) error {
	wanted := map[string]int{"cache_read": 2, "compute_at": 2, "decompose_reduction": 1, "fuse": 1, "prefetch": 3, "prefetch_tile": 3, "tensorize": 1}[t.Op]
	if t.Op != "reorder" && len(t.Args) != wanted {
		return fmt.Errorf("%s %s: %d arguments instead of %d", t.Op, t.On, len(t.Args), wanted)
	}
	var err error
	switch t.Op {
	case "split":
		_, _, err = s.Split(t.On, t.N)
	case "fuse":
		_, err = s.Fuse(t.On, t.Args[0])
	case "reorder":
		err = s.Reorder(append([]string{t.On}, t.Args...)...)
	case loop.Vector.String():
		err = s.Vectorize(t.On)
	case loop.Unrolled.String():
		err = s.Unroll(t.On)
	case loop.Parallel.String():
		err = s.Parallel(t.On)
	case "compute_at":
		scope, ok := scopeOf(t.Args[1])
		if !ok {
			return fmt.Errorf("compute_at %s: %q is no scope of scratch (worker, reg)", t.On, t.Args[1])
		}
		err = s.ComputeAt(t.On, t.Args[0], scope)
	case "cache_read":
		scope, ok := scopeOf(t.Args[1])
		if !ok {
			return fmt.Errorf("cache_read %s: %q is no scope of scratch (worker, reg)", t.On, t.Args[1])
		}
		_, err = s.CacheRead(t.On, t.Args[0], scope)
	case "decompose_reduction":
		err = s.DecomposeReduction(t.On, t.Args[0])
	case "prefetch":
		err = s.Prefetch(t.On, t.Args[0], t.Args[1], t.Args[2])
	case "tensorize":
		err = s.Tensorize(t.On, t.Args[0])
	case "prefetch_tile":
		err = s.PrefetchTile(t.On, t.Args[0], t.Args[1], t.Args[2])
	default:
		err = fmt.Errorf("no schedule primitive %q", t.Op)
	}
	return err
}

// scopeOf reads the name of a scope that buffers can be allocated in.
func scopeOf(name string) (loop.Scope, bool) {
	for _, s := range []loop.Scope{loop.Worker, loop.Reg} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}
