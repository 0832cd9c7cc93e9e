package sched_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/te"
	"lathe/internal/te/tetest"
)

// TestRandom applies random steps to kernels of random computations. Every step that is not refused leaves a function
// that verifies and gives the same result, for one worker and for several; the trace applied to the unscheduled kernel
// gives the same function again.
func TestRandom(t *testing.T) {
	samples := uint64(80)
	if testing.Short() {
		samples = 15
	}
	taken := map[string]int{}
	for _, kind := range tetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			for seed := range samples {
				r := rand.New(rand.NewPCG(seed, 2))
				c := tetest.New(r, kind)
				k := c.Lower()
				s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
				for range 3 + r.IntN(12) {
					s.Apply([]sched.Step{randomStep(r, k, s)}) // a refused step is tried in vain
				}
				for _, step := range s.Trace {
					taken[step.Op]++
				}
				if err := loop.Verify(s.Func); err != nil {
					t.Fatalf("seed %d: %v\n%s\n%s", seed, err, s, s.Func)
				}
				for _, workers := range []int{1, 3} {
					if err := c.Check(k, s.Func, workers); err != nil {
						t.Fatalf("seed %d, %d workers: %v\n%s\n%s\n%s", seed, workers, err, te.String(c.Out), s, s.Func)
					}
				}
				again := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
				if err := again.Apply(s.Trace); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, s)
				}
				if again.Func.String() != s.Func.String() {
					t.Fatalf("seed %d: the trace gives another function:\n%s\n%s\n%s", seed, s, again.Func, s.Func)
				}
			}
		})
	}
	for _, op := range []string{"split", "fuse", "reorder", "vector", "unroll", "parallel", "compute_at", "decompose_reduction"} {
		if n := taken[op]; n < 10 {
			t.Errorf("%s was applied %d times only: the random steps do not test it", op, n)
		}
	}
}

// randomStep is a step on existing blocks and loops, legal or not.
func randomStep(r *rand.Rand, k *lower.Kernel, s *sched.Schedule) sched.Step {
	loops := func(block string) []string {
		if l := s.Loops(block); len(l) > 0 {
			return l
		}
		return []string{"none"}
	}
	any := func(list []string) string { return list[r.IntN(len(list))] }
	block := any(k.Blocks)
	nest := loops(block)
	on := any(nest)
	switch r.IntN(10) {
	case 0, 1:
		return sched.Step{Op: "split", On: on, N: 1 + r.IntN(9)}
	case 2:
		i := r.IntN(len(nest))
		return sched.Step{Op: "fuse", On: nest[i], Args: []string{nest[min(i+1, len(nest)-1)]}}
	case 3:
		order := append([]string(nil), nest...)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		order = order[:1+r.IntN(len(order))]
		return sched.Step{Op: "reorder", On: order[0], Args: order[1:]}
	case 4:
		return sched.Step{Op: "vector", On: nest[len(nest)-1]}
	case 5:
		return sched.Step{Op: "unroll", On: on}
	case 6:
		return sched.Step{Op: "parallel", On: on}
	case 7, 8:
		return sched.Step{Op: "compute_at", On: block, Args: []string{any(loops(any(k.Blocks))), "worker"}}
	default:
		return sched.Step{Op: "decompose_reduction", On: block, Args: []string{on}}
	}
}

// TestNames: loops made by splitting and fusing have names of their own, however often.
func TestNames(t *testing.T) {
	s := sched.New(parse(t, pointwise))
	on := "j"
	for i := range 4 {
		o, in, err := s.Split(on, 2+i)
		if err != nil {
			t.Fatal(err)
		}
		if on, err = s.Fuse(o, in); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for i, n := range s.Loops("y") {
		if seen[n] {
			t.Errorf("loop %d is named %s as another", i, strconv.Quote(n))
		}
		seen[n] = true
	}
	sameResult(t, parse(t, pointwise), s.Func)
}
