package lathe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/tensor"
)

// Layers are timed in turns of both networks, and the least of each counts, which other processes disturb the least. A layer is slower as
// integers when that is so by a share that clocks tell apart.
const (
	timedTurns  = 30
	slowerShare = 1.05
)

// slowLayers times the steps of a float network and of the same as integers on one sample, in turns, and says of which nodes of the
// model the integers take longer. The time of a step that computes several nodes counts for the first; quantising the data of a layer
// counts for the layer that it is in the kernel of.
func slowLayers(ctx context.Context, float, integer *graph.Graph, in []*tensor.Tensor, o compile.Options, workers int) (map[string]string, error) {
	var both [2]*executable
	for i, g := range []*graph.Graph{float, integer} {
		e, err := openGraph(ctx, g, o, workers)
		if err != nil {
			return nil, err
		}
		defer e.Close()
		both[i] = e.(*executable)
		for k, t := range in {
			if err := e.SetInput(k, t); err != nil {
				return nil, err
			}
		}
	}
	var times [2]map[string]time.Duration
	for i, e := range both {
		times[i] = map[string]time.Duration{}
		if _, err := e.Run(); err != nil {
			return nil, err
		}
	}
	for range timedTurns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, e := range both {
			turn, err := e.stepTimes()
			if err != nil {
				return nil, err
			}
			for node, t := range turn {
				if least, ok := times[i][node]; !ok || t < least {
					times[i][node] = t
				}
			}
		}
	}
	slow := map[string]string{}
	for node, t := range times[1] {
		if f, ok := times[0][node]; ok && float64(t) > slowerShare*float64(f) {
			slow[node] = fmt.Sprintf("it takes %.1f us as integers and %.1f us as floats", micros(t), micros(f))
		}
	}
	return slow, nil
}

func micros(t time.Duration) float64 { return float64(t) / 1e3 }

// stepTimes are the times of the steps of a run, by the first node of the model that each computes.
func (e *executable) stepTimes() (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	for i, s := range e.Info().Steps {
		begin := time.Now()
		if err := e.RunSteps(i, i+1); err != nil {
			return nil, err
		}
		took := time.Since(begin)
		if nodes := slices.Compact(slices.Clone(s.Nodes)); len(nodes) > 0 {
			times[nodes[0]] += took
		}
	}
	return times, nil
}
