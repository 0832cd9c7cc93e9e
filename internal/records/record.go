// Package records keeps what tuning has found: JSON lines, each a trial, which may be cut anywhere and concatenated.
package records

import (
	"time"

	"lathe/internal/choice"
)

// Version is that of the format.
const Version = 1

// A Stage is how far a trial has come.
type Stage string

// Stages of a trial, each after fresh samples: a search proposes, a confirmation races the best of a task once more, and a verdict
// races the whole network.
const (
	Search  Stage = "search"
	Confirm Stage = "confirm"
	Network Stage = "network"
)

// A Fault is why a trial has no time, by the numbers of AutoTVM's MeasureErrorNo.
type Fault int

// Faults of a trial.
const (
	None           Fault = 0
	Instantiation  Fault = 1 // the point is not legal here
	CompileHost    Fault = 2 // it does not compile
	CompileDevice  Fault = 3
	RuntimeDevice  Fault = 4 // it crashed
	WrongAnswer    Fault = 5 // its result differs from the host's: a fault of the compiler
	BuildTimeout   Fault = 6
	RunTimeout     Fault = 7
	UnknownFailure Fault = 8
)

// A Key says what a record is of. Records of one kernel have one key, whatever network it is in.
type Key struct {
	Kernel  string `json:"key"`    // digest of the lowered function and of the rules' version
	Anchor  string `json:"anchor"` // digest of operator, attributes and logical types: its neighbours have it, too
	Target  string `json:"target"` // architecture, features, vector width
	Class   string `json:"class"`  // of machine: caches and rates, rounded
	Workers int    `json:"workers"`
}

// A Record is a trial: what one point was worth in its network, against what the rules choose by themselves.
type Record struct {
	Version int `json:"v"`
	Key
	Point    choice.Point `json:"point"`
	Times    []float64    `json:"us,omitempty"`      // microseconds of the samples
	Host     []float64    `json:"host_us,omitempty"` // of the host's kernel in the same passes
	Ratio    float64      `json:"ratio,omitempty"`   // median of the point's time over the host's, of the kernel at all stages
	Low      float64      `json:"low,omitempty"`     // 90 % bounds of it
	High     float64      `json:"high,omitempty"`
	Raced    int          `json:"raced,omitempty"`   // workers that ran, by the wall clock; 0: the share of one, by its thread's CPU time
	Verdict  *Bounds      `json:"verdict,omitempty"` // of whole runs with all points of a verdict, at stage network
	Fault    Fault        `json:"error"`
	Stage    Stage        `json:"stage"`
	Accepted bool         `json:"accepted,omitempty"` // a confirmation with a bound above what is needed; of a network: the verdict
	Network  string       `json:"network,omitempty"`  // digest of the model with its options
	Name     string       `json:"name,omitempty"`     // of the kernel in that network, for people
	Built    *Built       `json:"built,omitempty"`
	Rule     *Built       `json:"rule,omitempty"` // the same of what the rules decide
	Work     *Work        `json:"work,omitempty"`
	Time     time.Time    `json:"time"`
	By       By           `json:"by"`
}

// Bounds are a median with 90 % bounds.
type Bounds struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Built is what compiling a point told: with Work it is what a model of costs learns from.
type Built struct {
	Taken  choice.Point `json:"taken,omitempty"`  // all of what was decided, those included that the rules take
	Cost   float64      `json:"cost,omitempty"`   // the rules' estimate over that of what they would take
	Cycles float64      `json:"cycles,omitempty"` // that they expect
	Spills float64      `json:"spills,omitempty"` // share of moves to and from the stack among the instructions of innermost loops
	Code   int          `json:"code,omitempty"`   // bytes
}

// Work is what the kernel does, by the types of its operands and result.
type Work struct {
	Ops    []string `json:"ops,omitempty"`
	Shapes []string `json:"shapes,omitempty"`
	FLOPs  float64  `json:"flops,omitempty"`
	Bytes  float64  `json:"bytes,omitempty"`
	Lanes  int      `json:"lanes,omitempty"`   // float32 elements of a vector of the target
	Time   float64  `json:"us,omitempty"`      // of a call in the host network
	Peak   float64  `json:"peak_us,omitempty"` // by the roofline
}

// By is who made a record.
type By struct {
	Lathe   string `json:"lathe"`
	LLVM    string `json:"llvm,omitempty"`
	Rules   int    `json:"rules"` // version of the rules: points of others may mean something else
	Machine string `json:"machine,omitempty"`
	Seed    uint64 `json:"seed"`
	Trial   int    `json:"trial"`
	Tuner   string `json:"tuner,omitempty"`
}
