// Package tune looks for better decisions than the rules take, and proves that they are better. It proposes points, has them built
// and raced in the network that they are for, learns which are worth trying, and accepts what wins on fresh samples. It knows
// no compiler and no machine: a Builder and a Measurer stand for them.
package tune

import (
	"context"
	"iter"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// A Task is a kernel whose decisions are looked for. Steps with equal code are one task.
type Task struct {
	Index int
	Name  string // of the first kernel
	records.Key
	Ops     []string // operators by Relay's names
	Nodes   []string // nodes of the model
	Shapes  []string // types of the operands and the result
	Steps   []int    // steps of the host that run it, or in which it runs
	Calls   int      // in a run
	Inside  bool     // of one of them: a loop or branches
	FLOPs   float64  // of one call
	Bytes   float64  // read and written at least, of one call
	Time    time.Duration
	Peak    time.Duration // of one call by the target's roofline
	Default choice.Point  // what the rules decide
}

// Weight is the task's time in a run.
func (t *Task) Weight() time.Duration { return t.Time * time.Duration(t.Calls) }

// A Candidate is a point of a task.
type Candidate struct {
	Task  int
	Point choice.Point // decisions that are given; others as the rules take them
}

// A Built candidate is one that can be raced.
type Built struct {
	Candidate
	Taken   choice.Point      // all of what was decided
	Asked   []choice.Decision // in order: the space around Taken, with the model's costs
	Cycles  float64           // that the rules' model expects
	Spills  float64           // share of moves to and from the stack among the instructions of innermost loops
	Code    int               // bytes
	Same    bool              // its code is the host's
	Object  string            // what the measurer loads: a file's name, of equal code the same
	Fault   records.Fault
	Message string        // of the fault
	Took    time.Duration // of a builder
}

// A Builder compiles candidates against the plan of the host network. It contains what goes wrong: such a candidate has a Fault.
// An error ends the tuning.
type Builder interface {
	Build(ctx context.Context, list []Candidate) ([]Built, error)
}

// A Pipeline is a Builder and a Measurer that can race some candidates while it builds others.
type Pipeline interface {
	// Order sorts tasks as a search races them best, one after the other.
	Order(tasks []int) []int
	// Stream begins to build candidates, and yields them in the order of list while it goes on with those behind. It must be ranged over, once, and may
	// be left early. The next may begin when the last of one is yielded.
	Stream(ctx context.Context, list []Candidate) iter.Seq2[Built, error]
}

// Samples are times of a candidate and of the host's kernel in neighbouring passes, microseconds.
type Samples struct {
	Task    int
	Times   []float64
	Host    []float64
	Fault   records.Fault
	Message string
}

// A Stop says after how many pairs a candidate may leave a race, and when it does: Leaves decides, Next says when to ask it.
type Stop struct {
	Pairs     []int           // looks at the samples after so many pairs, ascending; the last ends the race
	Out       float64         // time over the host's of the first runs, from which on it does not race; 0: it races whatever they are
	Bound     float64         // confidence of two-sided bounds of the median ratio
	Least     int             // pairs before anything is decided
	Best      map[int]float64 // by task, the ratio of its best so far: a candidate leaves when its lower bound is above
	Accept    float64         // of a confirmation, the ratio that the upper bound must be below: a race ends when that is decided; 0: a search
	Gate      int             // of a confirmation, pairs up to which it can be given up only
	MinSample time.Duration
	Until     time.Time // a race ends at the next look behind it, decided or not; zero: any
	Number    int       // runs of a sample
	Workers   int       // 1: one pinned worker's share, by thread CPU time; more: all of them by wall clock
}

// A Measurer races candidates against the host's kernels in the host network, caches and weights as in use.
type Measurer interface {
	// Race returns samples in the order of list.
	Race(ctx context.Context, list []Built, stop Stop) ([]Samples, error)
	// Noise races the host's kernels against themselves for a time and returns ratios of pairs, each of all kernels.
	Noise(ctx context.Context, d time.Duration) ([]float64, error)
	// Networks races the package with these points against the one without, both opened anew opens times: pairs of times of whole
	// runs with the workers of use, microseconds. Where they compute something else, the error is a WrongError.
	Networks(ctx context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error)
}

// A WrongError says that a network with points computes something else than the one without.
type WrongError struct{ What string }

func (e *WrongError) Error() string {
	return "with other decisions the network computes something else: " + e.What
}
