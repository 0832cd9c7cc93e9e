package tune

import (
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// Options steer a tuning.
type Options struct {
	Tuner         string
	Trials        int           // over all tasks; 0: as many as promise something
	EarlyStopping int           // trials of a task without gain, behind which it is left, and no sooner; 0: the search ends when all tasks promise too little
	Time          time.Duration // of all from Begun on to the first look of the verdict, about; 0: any
	Begun         time.Time     // zero: when Run is called
	Packing       time.Duration // that the package takes which the verdict opens; it counts for Time
	Opening       time.Duration // that opening both networks takes without their runs; likewise
	Seed          uint64
	Workers       int           // of use; more than one: the division among them is tuned, too
	Network       string        // digest of the model with its options
	Host          time.Duration // of a run of the host network; 0: what the tasks take together
	By            records.By    // who makes records; Seed, Trial and Tuner are filled in

	Number, Repeat int           // runs of a sample, and the least number of pairs; 0: the rule's
	MinSample      time.Duration // of a sample, at least

	Records []records.Record       // earlier ones: of this network and seed they are resumed, of other origin they are starting points
	Foreign []records.Start        // starting points of TVM's logs, for kernels with their shapes
	Lanes   int                    // float32 elements of a vector of the target
	Starts  map[int][]choice.Point // further starting points, by task
	Replay  []records.Record       // their points are tried, in order, and no others

	SearchOnly bool // nothing is divided, proved and judged behind the search

	// Each trial goes to Sink when it is done, whose error ends the tuning, and what is going on to Progress. Both may be nil.
	Sink     func(records.Record) error
	Progress func(Progress)
}

// A Stage is what a tuning is doing.
type Stage string

// Stages in their order.
const (
	Noise     Stage = "noise"
	Searching Stage = "search"
	Dividing  Stage = "division"
	Proving   Stage = "confirm"
	Judging   Stage = "network"
)

// Progress is told after each trial, confirmation and verdict.
type Progress struct {
	Stage   Stage
	Task    *Task   // that the last trial was of; nil: none
	Current float64 // GFLOP/s of the trial; 0: it has no time
	Best    float64 // GFLOP/s of the task's best
	Done    int     // trials of the task
	Planned int     // trials of the task, about
	Took    time.Duration

	Number, Tasks  int           // of the task, from 1, among those that are tuned
	Trials, Budget int           // of all tasks; Budget is what they are at most, 0: unknown
	Faults         int           // trials without a time
	Host, Expected time.Duration // of a run, as it is and with the best of each task
	Left           time.Duration // of the search, about; 0: unknown
	Verdict        *Verdict      // the last, with the number of points that it is of
	Points         int
}

// A Found is what a tuning found for a task.
type Found struct {
	*Task
	Point    choice.Point // to be used where Accepted; nil: what the rules take
	Taken    choice.Point // all of what was decided at Point
	Confirm  Estimate     // ratio by fresh pairs
	Won      bool         // the confirmation
	Accepted bool         // the verdict left it in
	Workers  int          // that the confirmation was measured with
	Built    *Built       // at Point
	Host     *Built       // without a point; nil: it could not be built
	Trials   []*Trial     // in order, those of earlier runs included
}

// A Result is what a tuning ends with.
type Result struct {
	Found   []Found // in the order of tasks
	Verdict Verdict // of all accepted points; without any, of the last that were withdrawn, or none
	Noise   Estimate
	Spread  float64 // of host against host: width of what nine of ten ratios lie in
	Trials  int
	Resumed int // of them, those of earlier runs
	Faults  int
	Took    time.Duration
	Stages  map[Stage]time.Duration // of it, in each
	Built   time.Duration           // of it, building
	Raced   time.Duration           // of it, racing
	Ended   string                  // why the search ended, in words
}

// Points are those that are accepted, by task.
func (r *Result) Points() map[int]choice.Point {
	points := map[int]choice.Point{}
	for _, f := range r.Found {
		if f.Accepted {
			points[f.Index] = f.Point
		}
	}
	return points
}
