package quant

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Clocked executable tells how long its steps take.
type Clocked interface {
	Executable
	// StepTimes runs once, on the inputs that are set, and returns the time of each step, in the order of execution.
	StepTimes() ([]StepTime, error)
}

// A StepTime is the time of a step, with the nodes of the model that it computes.
type StepTime struct {
	Nodes []string
	Time  time.Duration
}

// times compare a float network with the same as integers.
type times struct {
	float, integer time.Duration        // of a run, medians
	layers         map[string]layerTime // by node of the model
}

// layerTime is the least time of the kernels that compute a node, of each network. Nodes that one kernel of either computes have the same.
type layerTime struct{ float, integer time.Duration }

// Networks are timed in turns, which what else the machine does disturbs alike: as many as fit into a time, between bounds.
const (
	leastTurns = 7
	mostTurns  = 51
	turnsTime  = 2 * time.Second
)

// race times two executables, whose inputs are set, in turns.
func race(ctx context.Context, float, integer Clocked) (*times, error) {
	both, runs, steps := [2]Clocked{float, integer}, [2][]time.Duration{}, [2][]StepTime{}
	begin := time.Now()
	for turn := 0; turn <= leastTurns || turn <= mostTurns && time.Since(begin) < turnsTime; turn++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := range both {
			k = (k + turn) % 2 // who goes first finds caches as the other left them
			list, err := both[k].StepTimes()
			if err != nil {
				return nil, err
			}
			if turn == 0 {
				steps[k] = list // warms up; times count from the next turn on
				for i := range list {
					list[i].Time = 1<<63 - 1
				}
				continue
			}
			run := time.Duration(0)
			for i, s := range list {
				run += s.Time
				steps[k][i].Time = min(steps[k][i].Time, s.Time)
			}
			runs[k] = append(runs[k], run)
		}
	}
	t := &times{float: median(runs[0]), integer: median(runs[1]), layers: map[string]layerTime{}}
	kernels := joint(steps[0], steps[1])
	sums := map[string]layerTime{}
	for k, list := range steps {
		for _, s := range list {
			if len(s.Nodes) == 0 {
				continue
			}
			root := kernels(s.Nodes[len(s.Nodes)-1])
			sum := sums[root]
			if k == 0 {
				sum.float += s.Time
			} else {
				sum.integer += s.Time
			}
			sums[root] = sum
		}
	}
	for _, s := range slices.Concat(steps[0], steps[1]) {
		for _, node := range s.Nodes {
			t.layers[node] = sums[kernels(node)]
		}
	}
	return t, nil
}

// joint puts nodes into sets that the steps of two networks compute apart from all others, and returns a function that names the set of a node. A
// node belongs to the first step that computes some of it: later ones read its result.
func joint(networks ...[]StepTime) func(node string) string {
	parent := map[string]string{}
	var root func(node string) string
	root = func(node string) string {
		if p, ok := parent[node]; ok && p != node {
			parent[node] = root(p)
			return parent[node]
		}
		return node
	}
	for _, steps := range networks {
		seen := map[string]bool{}
		for i := range steps {
			var own []string
			for _, node := range steps[i].Nodes {
				if !seen[node] {
					own = append(own, node)
				}
				seen[node] = true
			}
			if len(own) == 0 {
				continue
			}
			steps[i].Nodes = own // its time is that of these
			for _, node := range own[1:] {
				parent[root(own[0])] = root(node)
			}
		}
	}
	return root
}

func median(list []time.Duration) time.Duration {
	slices.SortFunc(list, cmp.Compare[time.Duration])
	return list[len(list)/2]
}
