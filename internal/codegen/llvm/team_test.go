package llvm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
)

const elements = 64

// reverse writes in[63-i] + 1 to out[i] for a chunk of 64 elements, and counts in out[64] how many were written.
const reverse = `define hidden void @reverse(ptr %in, ptr %out, ptr %scratch, i64 %chunk, i64 %chunks) nounwind {
entry:
  %a = mul i64 %chunk, 64
  %lo = udiv i64 %a, %chunks
  %b = add i64 %a, 64
  %hi = udiv i64 %b, %chunks
  %n = sub i64 %hi, %lo
  %n32 = trunc i64 %n to i32
  %count = getelementptr i32, ptr %out, i64 64
  %old = atomicrmw add ptr %count, i32 %n32 monotonic
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %hi
  br i1 %more, label %body, label %end
body:
  %j = sub i64 63, %i
  %p = getelementptr i32, ptr %in, i64 %j
  %v = load i32, ptr %p
  %w = add i32 %v, 1
  %q = getelementptr i32, ptr %out, i64 %i
  store i32 %w, ptr %q
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}
`

// A reversal is a run function whose steps reverse what the step before wrote, in random numbers of chunks; of loops the body is two
// steps and runs three times.
type reversal struct {
	*llvm.Run
	workspace int
	counts    []int // where counters lie, in int32
	want      []int // that a run adds to them, in elements
	added     int   // by all steps together to an element
	turns     []int // bytes that conditions are read from, which are one or zero as it comes
	whiles    []while
}

// A while is a loop whose condition is in three bytes, and where the number of its iterations comes to lie.
type while struct{ first, even, odd, count int }

// trips is how often it runs.
func (w while) trips(memory []byte) (n int) {
	for ; n < mostTrips; n++ {
		at := w.even
		if n%2 == 1 {
			at = w.odd
		}
		if n == 0 {
			at = w.first
		}
		if memory[at] == 0 {
			break
		}
	}
	return n
}

const mostTrips = 3

// turn makes a place for a condition.
func (c *reversal) turn() llvm.Place {
	at := c.workspace
	c.turns = append(c.turns, at)
	c.workspace += 4
	return llvm.Place{Kind: llvm.Workspace, Index: at}
}

// branches makes two ways from one place to another, with steps aside.
func (c *reversal) branches(r *rand.Rand, from, to, aside llvm.Place, serial bool) llvm.Step {
	way := func() *llvm.Loop {
		l := &llvm.Loop{Trips: 1, Inputs: []llvm.Bound{{First: from, Even: from, Odd: from}}, Outputs: []llvm.Bound{{First: to, Even: to, Odd: to}}}
		for range r.IntN(3) {
			l.Steps = append(l.Steps, llvm.Step{Kernel: "reverse", Serial: serial || r.IntN(2) == 0, Barrier: true, Chunks: 2, Extent: elements, Args: []llvm.Place{{Kind: llvm.Input}, aside}})
		}
		l.Steps = append(l.Steps, llvm.Step{Kernel: "reverse", Serial: serial || r.IntN(2) == 0, Chunks: 1 << r.IntN(4), Extent: elements, Args: []llvm.Place{{Kind: llvm.Input}, {Kind: llvm.Output}}})
		return l
	}
	return llvm.Step{Barrier: true, Serial: serial, Loop: way(), Else: way(), Condition: c.turn()}
}

// aside is a loop that ends by its condition and writes to one place only.
func (c *reversal) aside(r *rand.Rand, from, to llvm.Place, serial bool) llvm.Step {
	first, even, odd := c.turn(), c.turn(), c.turn()
	count := c.turn()
	c.turns = c.turns[:len(c.turns)-1]
	c.workspace += 8
	count.Index = (count.Index + 7) / 8 * 8
	c.whiles = append(c.whiles, while{first.Index, even.Index, odd.Index, count.Index})
	last := c.turn()
	c.turns = c.turns[:len(c.turns)-1]
	l := &llvm.Loop{
		Trips: mostTrips, Inputs: []llvm.Bound{{First: first, Even: even, Odd: odd}, {First: from, Even: from, Odd: from}}, Outputs: []llvm.Bound{{First: last, Even: last, Odd: last}},
		While: &llvm.While{Results: []llvm.Place{last}, Bytes: []int{1}, Count: count},
	}
	for range 1 + r.IntN(2) {
		l.Steps = append(l.Steps, llvm.Step{Kernel: "reverse", Serial: serial || r.IntN(2) == 0, Barrier: true, Chunks: 2, Extent: elements, Args: []llvm.Place{{Kind: llvm.Input, Index: 1}, to}})
	}
	return llvm.Step{Barrier: true, Serial: serial, Loop: l}
}

// randomReversal draws one, of whose steps two in odds depend on data.
func randomReversal(r *rand.Rand, run *llvm.Run, odds int) *reversal {
	c := &reversal{Run: run}
	place := func(times int) llvm.Place {
		c.counts, c.want = append(c.counts, c.workspace/4+elements), append(c.want, times*elements)
		p := llvm.Place{Kind: llvm.Workspace, Index: c.workspace}
		c.workspace += 4 * (elements + 16)
		return p
	}
	from := llvm.Place{Kind: llvm.Input}
	serial := false
	for range 1 + r.IntN(140) {
		s := llvm.Step{Kernel: "reverse", Barrier: true, Serial: r.IntN(3) == 0, Chunks: 1 << r.IntN(4), Extent: 1 + r.IntN(elements)}
		to := place(1)
		s.Args = []llvm.Place{from, to}
		c.added++
		if r.IntN(10) == 0 {
			const trips = 3
			c.want[len(c.want)-1] *= trips
			c.added += 2*trips - 1
			inner := place(trips)
			body := []llvm.Step{s, {Kernel: "reverse", Barrier: true, Serial: s.Serial || r.IntN(2) == 0, Chunks: 2, Extent: elements}}
			body[0].Args = []llvm.Place{{Kind: llvm.Input}, inner}
			body[1].Args = []llvm.Place{inner, {Kind: llvm.Output}}
			body[0].Barrier, body[1].Joined = false, s.Serial
			body[1].Barrier = !body[1].Joined
			s = llvm.Step{Barrier: true, Serial: s.Serial, Loop: &llvm.Loop{
				Trips: trips, Steps: body,
				Inputs: []llvm.Bound{{First: from, Even: to, Odd: to}}, Outputs: []llvm.Bound{{First: to, Even: to, Odd: to}},
			}}
		}
		other := llvm.Place{Kind: llvm.Workspace, Index: c.workspace}
		c.workspace += 4 * (elements + 16)
		switch r.IntN(odds) {
		case 0:
			if s.Loop == nil {
				s = c.branches(r, from, to, other, s.Serial)
			}
		case 1:
			w := c.aside(r, from, other, r.IntN(2) == 0)
			w.Joined = false
			c.Steps = append(c.Steps, w)
			serial = false
		}
		if s.Joined = serial && s.Serial && r.IntN(4) > 0; s.Joined {
			s.Barrier = false
		}
		serial = s.Serial
		c.Steps = append(c.Steps, s)
		from = to
	}
	c.Steps[0].Barrier = false
	return c
}

// heap makes a slice that no stack holds, which might move.
//
//go:noinline
func heap[T any](n int) []T { return make([]T, n) }

// Beds are where workers sleep until somebody wakes them, or for so long that nobody will.
type beds struct {
	mu     sync.Mutex
	night  context.Context // ended by who wakes; nil: nobody sleeps
	rouse  context.CancelFunc
	missed atomic.Bool
}

func (b *beds) wait(word *uint32, seen uint32) {
	b.mu.Lock()
	if b.night == nil {
		b.night, b.rouse = context.WithCancel(context.Background())
	}
	night, stays := b.night, atomic.LoadUint32(word) == seen
	b.mu.Unlock()
	if !stays {
		return
	}
	select {
	case <-night.Done():
	case <-time.After(5 * time.Second):
		b.missed.Store(true)
	}
}

func (b *beds) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.night != nil {
		b.rouse()
	}
	b.night = nil
}

// TestTeam runs chains by threads of which all but the first come when they like, also for runs that are over, and of which some take
// part in a run and others do not. Every chunk is done once, and after what it reads.
func TestTeam(t *testing.T) {
	here := native(t)
	if here.PointerBits() != 64 {
		t.Skip("the context below has the layout of 64-bit targets")
	}
	var b beds
	wait := purego.NewCallback(func(_ uintptr, word *uint32, seen uint32) { b.wait(word, seen) })
	wake := purego.NewCallback(func(_ uintptr, _ *uint32) { b.wake() })
	for seed := range uint64(6) {
		for _, workers := range []int{1, 2, 3, 7} {
			r := rand.New(rand.NewPCG(seed, uint64(workers)))
			odds, spin := 8, r.IntN(50)
			if seed%2 == 1 { // workers sleep in front of decisions
				odds, spin = 3, 0
			}
			c := randomReversal(r, &llvm.Run{Symbol: "lathe_test_run", Target: here, FlushDenormals: true}, odds)
			run := loadRun(t, here, c.Run, reverse)
			in, workspace := heap[int32](elements), heap[int32](c.workspace/4)
			tables := heap[unsafe.Pointer](2)
			tables[0] = unsafe.Pointer(&in[0])
			ctx, team := heap[uint64](64), heap[uint64](bundle.TeamSize/8+16*workers+16)
			for uintptr(unsafe.Pointer(&team[0]))%64 != 0 {
				team = team[1:]
			}
			set := func(offset int, p unsafe.Pointer) { ctx[offset/8] = uint64(uintptr(p)) }
			at := bundle.ContextOf(8)
			set(at.Inputs, unsafe.Pointer(&tables[0]))
			set(at.Outputs, unsafe.Pointer(&tables[1]))
			set(at.Workspace, unsafe.Pointer(&workspace[0]))
			set(at.Team, unsafe.Pointer(&team[0]))
			set(at.Parts, unsafe.Pointer(&team[bundle.TeamSize/8]))
			ctx[at.Wait/8], ctx[at.Wake/8] = uint64(wait), uint64(wake)
			ctx[at.Status/8] = uint64(spin) << 32
			base := func(w int) *uint64 { return &team[(bundle.TeamSize+bundle.PartSize*w+bundle.PartBase)/8] }
			done := (*uint64)(unsafe.Pointer(&team[bundle.TeamDone/8]))

			var start atomic.Uint64 // the base of a run and how many take part in it
			var stop atomic.Bool
			var others sync.WaitGroup
			for w := 1; w < workers; w++ {
				own := rand.New(rand.NewPCG(seed, uint64(100*workers+w)))
				others.Go(func() {
					goruntime.LockOSThread()
					defer goruntime.UnlockOSThread()
					for !stop.Load() {
						began := start.Load()
						size := int(began % 8)
						if w >= size {
							continue
						}
						*base(w) = began / 8
						if own.IntN(4) == 0 {
							time.Sleep(time.Duration(own.IntN(300)) * time.Microsecond)
						}
						run(unsafe.Pointer(&ctx[0]), int32(w), int32(size), 0, int32(len(c.Steps)))
					}
				})
			}
			var last []int32
			if l := c.Steps[len(c.Steps)-1].Loop; l != nil {
				last = workspace[l.Outputs[0].First.Index/4:]
			} else {
				last = workspace[c.Steps[len(c.Steps)-1].Args[1].Index/4:]
			}
			err := func() error {
				for k := range 60 {
					for i := range in {
						in[i] = int32(1000 * k)
					}
					memory := unsafe.Slice((*byte)(unsafe.Pointer(&workspace[0])), c.workspace)
					for _, at := range c.turns {
						memory[at] = byte(r.IntN(2))
					}
					size := workers
					if r.IntN(2) == 0 {
						size = 1 + r.IntN(workers)
					}
					if size > 1 {
						*base(0) = atomic.LoadUint64(done)
						start.Store(8**base(0) + uint64(size))
					}
					run(unsafe.Pointer(&ctx[0]), 0, int32(size), 0, int32(len(c.Steps)))
					for i := range elements {
						if got, want := last[i], int32(1000*k+c.added); got != want {
							return fmt.Errorf("run %d: element %d is %d, want %d", k, i, got, want)
						}
					}
					for _, w := range c.whiles {
						if got, want := int(workspace[w.count/4]), w.trips(memory); got != want {
							return fmt.Errorf("run %d: a loop ran %d times instead of %d", k, got, want)
						}
					}
					for i, at := range c.counts {
						if got, want := int(workspace[at]), c.want[i]*(k+1); got != want {
							return fmt.Errorf("run %d: %d elements of value %d were written, want %d", k, got, i, want)
						}
					}
				}
				return nil
			}()
			stop.Store(true)
			others.Wait()
			if err == nil && b.missed.Swap(false) {
				err = errors.New("somebody sleeps whom nobody wakes")
			}
			if err != nil {
				t.Errorf("seed %d, %d workers, %d steps: %v", seed, workers, len(c.Steps), err)
			}
		}
	}
}
