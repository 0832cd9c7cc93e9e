package sched

import (
	"fmt"
	"slices"
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
	i := slices.IndexFunc(primitives, func(p Primitive) bool { return p.Name == t.Op })
	if i < 0 {
		return fmt.Errorf("no schedule primitive %q", t.Op)
	}
	p := primitives[i]
	if !p.takes(len(t.Args)) {
		return fmt.Errorf("%s %s: %d arguments instead of %d", t.Op, t.On, len(t.Args), len(p.Args))
	}
	return p.run(s, t)
}
