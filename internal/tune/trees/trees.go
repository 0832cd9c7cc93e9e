// Package trees fits gradient boosted regression trees (Friedman, Greedy Function Approximation, 2001; with the histograms of Ke et al.,
// LightGBM, 2017). Equal data give equal trees.
package trees

import (
	"errors"
	"math"
)

// A Fit's steering. The zero value of a field is its default.
type Options struct {
	Rounds int     // trees, 150
	Rate   float64 // of learning, 0.1
	Ridge  float64 // weight of an example that says 0, added to every leaf: 1
	Least  float64 // weight of the examples on either side of a split, 2
}

// Sizes that are fixed.
const (
	Depth  = 4 // of trees
	bins   = 32
	splits = 1<<Depth - 1
	leaves = 1 << Depth
)

// A Model is a sum of trees.
type Model struct {
	Features int    `json:"features"`
	Trees    []Tree `json:"trees"`
}

// A Tree is complete: node i has the children 2i+1 and 2i+2, and the children of the last level are leaves. An example goes right where its
// feature is above the threshold; a feature that it lacks, NaN, goes left, and so does everything at a node that does not split (-1).
type Tree struct {
	Feature   [splits]int     `json:"f"`
	Threshold [splits]float64 `json:"t"`
	Value     [leaves]float64 `json:"v"`
}

// Predict is the value of the model for features; those behind the last that it knows do not count, those that lack are NaN.
func (m *Model) Predict(x []float64) float64 {
	sum := 0.0
	for i := range m.Trees {
		sum += m.Trees[i].at(x)
	}
	return sum
}

func (t *Tree) at(x []float64) float64 {
	n := 0
	for n < splits {
		f := t.Feature[n]
		n = 2*n + 1
		if f >= 0 && f < len(x) && x[f] > t.Threshold[(n-1)/2] {
			n++
		}
	}
	return t.Value[n-splits]
}

// Check refuses a model that was damaged.
func (m *Model) Check() error {
	if m.Features < 0 {
		return errors.New("a negative number of features")
	}
	for _, t := range m.Trees {
		for i, f := range t.Feature {
			if f < -1 || f >= m.Features || math.IsNaN(t.Threshold[i]) {
				return errors.New("a split by no feature")
			}
		}
		for _, v := range t.Value {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.New("a leaf without a value")
			}
		}
	}
	return nil
}
