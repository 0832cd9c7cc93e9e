package sched_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/sched"
	"lathe/internal/te"
	"lathe/internal/testkit/tetest"
)

// TestRandom applies random steps to kernels of random computations. Every step that is not refused leaves a function
// that verifies and gives the same result, for one worker and for several; the trace applied to the unscheduled kernel
// gives the same function again.
func TestRandom(t *testing.T) {
	samples := uint64(120)
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
				if seed%4 == 0 { // what is staged goes through all other steps
					first := k.Blocks[0]
					for _, at := range s.Loops(first) {
						step := sched.Step{Op: "stage_factors", On: first, Args: []string{at}, N: r.IntN(3) * (1 + r.IntN(4))}
						if step.N == 0 && seed%8 == 0 {
							step.Op = "stage_rows"
						}
						s.Apply([]sched.Step{step})
					}
				}
				for range 6 + r.IntN(24) {
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
	if testing.Short() {
		return // not every primitive is tried
	}
	for _, p := range sched.Primitives() {
		if n := taken[p.Name]; n < 3 && p.Name != "tensorize" && p.Name != "cache_read" && p.Name != "factor_reduction" && p.Name != "compute_with" {
			t.Errorf("%s was applied %d times only: the random steps do not test it", p.Name, n)
		}
	}
}

// TestComputeWith joins what random kernels compute first with all loops of as many iterations that follow, which random steps reach too rarely.
func TestComputeWith(t *testing.T) {
	done := 0
	for _, kind := range tetest.Kinds() {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 4))
			c := tetest.New(r, kind)
			k := c.Lower()
			whole := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
			for i, block := range k.Blocks[:len(k.Blocks)-1] {
				for _, reader := range k.Blocks[i+1:] {
					for _, first := range whole.Loops(block) {
						for _, with := range whole.Loops(reader) {
							s := whole.Copy()
							if s.ComputeWith(first, with) != nil {
								continue
							}
							done++
							if err := c.Check(k, s.Func, 1); err != nil {
								t.Fatalf("%s, seed %d: %v\n%s\n%s", kind, seed, err, s, s.Func)
							}
						}
					}
				}
			}
		}
	}
	if done < 20 {
		t.Errorf("%d loops were joined", done)
	}
}

// TestFactorReduction takes the scales of random sums in blocks out of these, which random steps reach too rarely.
func TestFactorReduction(t *testing.T) {
	done := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := tetest.New(r, "blocks")
		k := c.Lower()
		if len(k.Blocks) != 2 {
			continue
		}
		s := sched.New(&loop.Func{Name: k.Func.Name, Params: k.Func.Params, Body: k.Func.Body})
		acc := k.Blocks[0]
		of := func() []string { return s.Loops(acc) }
		if err := s.ComputeAt(acc, s.Loops(k.Blocks[1])[0], loop.Worker); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		last := of()[len(of())-1]
		outer, _, err := s.Split(last, []int{2, 8, 16, 3}[r.IntN(4)])
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		first := of()[1] // inside the loop of the result
		steps := []sched.Step{{Op: "reorder", On: outer, Args: []string{first}}, {Op: "decompose_reduction", On: acc, Args: []string{outer}},
			{Op: "cut_reduction", On: acc, Args: []string{outer, "worker"}}}
		if first == outer {
			steps = steps[1:]
		}
		if s.Apply(steps) == nil && s.FactorReduction(acc) == nil { // a sum of one part is not cut
			done++
		}
		if err := loop.Verify(s.Func); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.Func)
		}
		if err := c.Check(k, s.Func, 1); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, s, s.Func)
		}
	}
	if done < 20 {
		t.Errorf("factors were taken out of %d sums only", done)
	}
}

// randomStep is a step of any primitive on existing blocks, loops and buffers, legal or not.
func randomStep(r *rand.Rand, k *lower.Kernel, s *sched.Schedule) sched.Step {
	blocks := slices.Clone(k.Blocks)
	var buffers []string
	loop.Walk(s.Func.Body, func(t loop.Stmt) bool {
		if b, ok := t.(*loop.Block); ok {
			expr.Loads(b.Body.Value, func(l *expr.Load) { buffers = append(buffers, l.From.(*loop.Buffer).Name) })
		}
		return true
	})
	block := blocks[r.IntN(len(blocks))]
	name := func(n sched.Name) string {
		var list []string
		switch n {
		case sched.BlockName:
			list = blocks
		case sched.BufferName:
			list = buffers
		case sched.ScopeName:
			list = []string{"worker"} // registers want constant indices, which only whole schedules have
		case sched.LoopName:
			of := block
			if r.IntN(8) == 0 {
				of = blocks[r.IntN(len(blocks))]
			}
			list = s.Loops(of)
		}
		if len(list) == 0 {
			return "none"
		}
		return list[r.IntN(len(list))]
	}
	all := slices.DeleteFunc(slices.Clone(sched.Primitives()), func(p sched.Primitive) bool { return strings.HasPrefix(p.Name, "stage_") || p.Name == "prefetch_near" })
	p := all[r.IntN(len(all))]
	for p.Name == "cache_read" || p.Name == "fold_at" { // where a tile is computed in part, the copy would read what nobody wrote; the other is below
		p = all[r.IntN(len(all))]
	}
	if n := len(s.Trace); n > 0 && s.Trace[n-1].Op == "decompose_reduction" && r.IntN(3) > 0 { // what can be cut or has parts is rare otherwise
		last := s.Trace[n-1]
		if inside := s.Loops(last.On); r.IntN(4) == 0 && len(inside) > 0 {
			return sched.Step{Op: "rfactor", On: last.On, Args: []string{last.Args[0], inside[len(inside)-1]}}
		}
		if inside := s.Loops(last.On); r.IntN(4) == 0 && len(inside) > 0 {
			return sched.Step{Op: "fold_at", On: last.On, Args: []string{inside[r.IntN(len(inside))], "worker"}}
		}
		return sched.Step{Op: "cut_reduction", On: last.On, Args: []string{last.Args[0], "worker"}}
	}
	if n := len(s.Trace); n > 0 && s.Trace[n-1].Op == "compute_at" && r.IntN(2) == 0 { // what is placed can be joined with its reader
		p = all[slices.IndexFunc(all, func(p sched.Primitive) bool { return p.Name == "compute_with" })]
	}
	step := sched.Step{Op: p.Name, On: name(p.On)}
	if p.Name == "prefetch_ahead" && len(s.Trace)%2 > 0 {
		step.Op = "prefetch_near"
	}
	if p.On == sched.BlockName {
		step.On = block
	}
	for _, a := range p.Args {
		step.Args = append(step.Args, name(a))
	}
	if i := r.IntN(len(blocks)); p.Name == "compute_at" && i > 0 { // the loop is that of a later block
		if later := s.Loops(blocks[i]); len(later) > 0 {
			return sched.Step{Op: p.Name, On: blocks[r.IntN(i)], Args: []string{later[r.IntN(len(later))], "worker"}}
		}
	}
	if n := len(s.Trace); p.Name == "compute_with" && n > 0 { // few loops can be joined: those of neighbours
		first := max(0, slices.Index(blocks[:len(blocks)-1], s.Trace[n-1].On)) // of a block that was placed just before, if one was
		if own, next := s.Loops(blocks[first]), s.Loops(blocks[min(first+1, len(blocks)-1)]); len(own) > 0 && len(next) > 0 {
			depth := r.IntN(min(len(own), len(next)))
			return sched.Step{Op: p.Name, On: own[depth], Args: []string{next[depth]}}
		}
	}
	for p.Many && r.IntN(2) == 0 {
		step.Args = append(step.Args, name(p.Args[len(p.Args)-1]))
	}
	if p.Count {
		step.N = 1 + r.IntN(9)
	}
	return step
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
