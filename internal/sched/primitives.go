package sched

import (
	"fmt"
	"strings"

	"lathe/internal/loop"
)

// A Name says what a word of a step names.
type Name string

const (
	LoopName   Name = "LOOP"   // a loop, by its variable
	BlockName  Name = "BLOCK"  // a block, by its stage
	BufferName Name = "BUFFER" // a buffer that a block accesses
	ScopeName  Name = "SCOPE"  // where scratch lies: worker or reg
)

// A Primitive is what a step can be. The table below is the only list of them: Apply, the documentation and the tests
// that take random steps read it.
type Primitive struct {
	Name  string
	On    Name   // what Step.On names
	Args  []Name // what Step.Args name
	Many  bool   // the last of Args may be repeated, or left out
	Count bool   // Step.N is given
	Doc   string // before → after, or one sentence

	run func(s *Schedule, t Step) error
}

// Primitives lists the primitives by name.
func Primitives() []Primitive { return primitives }

var primitives = []Primitive{
	{Name: "cache_read", On: BlockName, Args: []Name{BlockName, ScopeName}, Doc: "copies what the block reads of another block's registers to scratch, and reads it there", run: cacheRead},
	{Name: "compute_at", On: BlockName, Args: []Name{LoopName, ScopeName}, Doc: "computes what one iteration of the loop needs of the block inside it, in scratch", run: computeAt},
	{Name: "compute_with", On: LoopName, Args: []Name{LoopName}, Doc: "for i { A(i) } for j { B(j) } → for j { A(j) B(j) }, where B(j) reads of what A computes just A(j)",
		run: func(s *Schedule, t Step) error { return s.ComputeWith(t.On, t.Args[0]) }},
	{Name: "cut_reduction", On: BlockName, Args: []Name{LoopName, ScopeName}, Doc: "folds what the loop holds apart, and adds the parts to a total in scratch", run: cutReduction},
	{Name: "decompose_reduction", On: BlockName, Args: []Name{LoopName}, Doc: "takes the block's initialisation out into a nest of its own, just before the loop",
		run: func(s *Schedule, t Step) error { return s.DecomposeReduction(t.On, t.Args[0]) }},
	{Name: "factor_reduction", On: BlockName, Doc: "multiplies the parts of a cut sum by the factors that no iteration of a part changes, instead of its terms",
		run: func(s *Schedule, t Step) error { return s.FactorReduction(t.On) }},
	{Name: "fold_at", On: BlockName, Args: []Name{LoopName, ScopeName}, Doc: "folds what one iteration of the loop adds to the block's result in scratch, and adds that once", run: foldAt},
	{Name: "fuse", On: LoopName, Args: []Name{LoopName}, Doc: "for i { for j { ... } } → for i.j { ... }",
		run: func(s *Schedule, t Step) error { _, err := s.Fuse(t.On, t.Args[0]); return err }},
	{Name: "in_place", On: BlockName, Doc: "keeps what the block computes in the elements of the result that are made from it, in place of scratch",
		run: func(s *Schedule, t Step) error { return s.InPlace(t.On) }},
	{Name: loop.Parallel.String(), On: LoopName, Doc: "divides the iterations among the workers",
		run: func(s *Schedule, t Step) error { return s.Parallel(t.On) }},
	{Name: "prefetch", On: BlockName, Args: []Name{BufferName, LoopName, LoopName}, Count: true, Doc: "asks, during one iteration of the first loop, for what the next reads of the buffer, some at each iteration of the second, and what is left at one of up to N",
		run: func(s *Schedule, t Step) error { return s.Prefetch(t.On, t.Args[0], t.Args[1], t.Args[2], t.N) }},
	{Name: "prefetch_ahead", On: BlockName, Args: []Name{BufferName, LoopName}, Count: true, Doc: "asks, in each iteration of the loop, for what the block reads of the buffer N iterations later",
		run: func(s *Schedule, t Step) error { return s.PrefetchAhead(t.On, t.Args[0], t.Args[1], t.N) }},
	{Name: "prefetch_near", On: BlockName, Args: []Name{BufferName, LoopName}, Count: true, Doc: "the same into L1, of what comes from L2",
		run: func(s *Schedule, t Step) error { return s.PrefetchNear(t.On, t.Args[0], t.Args[1], t.N) }},
	{Name: "prefetch_tile", On: BlockName, Args: []Name{BufferName, LoopName, LoopName}, Count: true, Doc: "asks for what the block accesses of the buffer in this iteration of the first loop, during the second, which comes before it, or before that where it is N lines or fewer",
		run: func(s *Schedule, t Step) error { return s.PrefetchTile(t.On, t.Args[0], t.Args[1], t.Args[2], t.N) }},
	{Name: "reorder", On: LoopName, Args: []Name{LoopName}, Many: true, Doc: "puts loops of one perfect nest into the order given",
		run: func(s *Schedule, t Step) error { return s.Reorder(append([]string{t.On}, t.Args...)...) }},
	{Name: "rfactor", On: BlockName, Args: []Name{LoopName, LoopName}, Doc: "gives every iteration of the second loop an accumulator of its own, and folds these behind the first",
		run: func(s *Schedule, t Step) error { _, err := s.RFactor(t.On, t.Args[0], t.Args[1]); return err }},
	{Name: "split", On: LoopName, Count: true, Doc: "for i in 0..n { ... } → for i.o in 0..ceil(n/N) { for i.i in 0..N { ... } }",
		run: func(s *Schedule, t Step) error { _, _, err := s.Split(t.On, t.N); return err }},
	{Name: "stage_factors", On: BlockName, Args: []Name{LoopName}, Count: true, Doc: "computes the factors of the block's terms that the loop does not change as a block of their own, in scratch, the last axis in panels of N, or whole (0)",
		run: func(s *Schedule, t Step) error { _, err := s.StageFactors(t.On, t.Args[0], t.N); return err }},
	{Name: "stage_rows", On: BlockName, Args: []Name{LoopName}, Doc: "the same with the reductions inside, so that the rows of a sum lie together",
		run: func(s *Schedule, t Step) error { _, err := s.StageRows(t.On, t.Args[0]); return err }},
	{Name: "tensorize", On: BlockName, Args: []Name{LoopName}, Doc: "computes the four iterations of the loop by one dot product of bytes",
		run: func(s *Schedule, t Step) error { return s.Tensorize(t.On, t.Args[0]) }},
	{Name: loop.Jammed.String(), On: LoopName, Doc: "emits the body once per iteration, with their instructions between each other's",
		run: func(s *Schedule, t Step) error { return s.Jam(t.On) }},
	{Name: loop.Unrolled.String(), On: LoopName, Doc: "emits the body once per iteration",
		run: func(s *Schedule, t Step) error { return s.Unroll(t.On) }},
	{Name: loop.Vector.String(), On: LoopName, Doc: "executes all iterations at once, one lane each",
		run: func(s *Schedule, t Step) error { return s.Vectorize(t.On) }},
}

// Form is how a step of the primitive is written.
func (p Primitive) Form() string {
	words := []string{p.Name, string(p.On)}
	for i, a := range p.Args {
		word := string(a)
		if p.Many && i == len(p.Args)-1 {
			word += "..."
		}
		words = append(words, word)
	}
	if p.Count {
		words = append(words, "N")
	}
	return strings.Join(words, " ")
}

// takes reports whether a step with n arguments is complete.
func (p Primitive) takes(n int) bool {
	if p.Many {
		return n >= len(p.Args)-1
	}
	return n == len(p.Args)
}

func computeAt(s *Schedule, t Step) error {
	scope, err := scopeOf(t.Args[1])
	if err != nil {
		return err
	}
	return s.ComputeAt(t.On, t.Args[0], scope)
}

func cacheRead(s *Schedule, t Step) error {
	scope, err := scopeOf(t.Args[1])
	if err != nil {
		return err
	}
	_, err = s.CacheRead(t.On, t.Args[0], scope)
	return err
}

func cutReduction(s *Schedule, t Step) error {
	scope, err := scopeOf(t.Args[1])
	if err != nil {
		return err
	}
	return s.CutReduction(t.On, t.Args[0], scope)
}

func foldAt(s *Schedule, t Step) error {
	scope, err := scopeOf(t.Args[1])
	if err != nil {
		return err
	}
	return s.FoldAt(t.On, t.Args[0], scope)
}

// scopeOf reads the name of a scope that buffers can be allocated in.
func scopeOf(name string) (loop.Scope, error) {
	for _, s := range []loop.Scope{loop.Worker, loop.Reg} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is no scope of scratch (worker, reg)", name)
}
