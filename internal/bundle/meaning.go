package bundle

import (
	"fmt"
	"math"
	"slices"
)

// A Meaning is what the model's file says of the numbers of an input or output. Runs do not depend on it.
type Meaning struct {
	Scale   float64   `json:"scale,omitempty"` // integers q stand for Scale (q - Zero); 0: for themselves
	Zero    int       `json:"zero_point,omitempty"`
	Aliases []string  `json:"aliases,omitempty"` // other names of the tensor
	Labels  []string  `json:"labels,omitempty"`  // names of the classes along the last axis longer than 1
	Mean    []float64 `json:"mean,omitempty"`    // pixels p from 0 to 255 become (p - Mean) / Std, one number or one for each channel
	Std     []float64 `json:"std,omitempty"`
}

// Called reports whether the tensor goes by a name, its own or another.
func (t TensorInfo) Called(name string) bool {
	return t.Name == name || slices.Contains(t.Aliases, name)
}

// Named is the index of the tensor of a name: the one whose own it is, else the one that has it as another; -1 where there is none.
func Named(ts []TensorInfo, name string) int {
	if i := slices.IndexFunc(ts, func(t TensorInfo) bool { return t.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ts, func(t TensorInfo) bool { return t.Called(name) })
}

func (m Meaning) check() error {
	if !(m.Scale >= 0) || math.IsInf(m.Scale, 0) {
		return fmt.Errorf("scale %v is not a positive number", m.Scale)
	}
	if len(m.Mean) != len(m.Std) || slices.Contains(m.Std, 0) {
		return fmt.Errorf("mean %v and deviation %v do not normalise", m.Mean, m.Std)
	}
	return nil
}
