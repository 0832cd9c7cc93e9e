package impl

import (
	"strconv"

	"lathe/internal/choice"
	"lathe/internal/target"
)

// An Iteration is what one of a loop computes.
type Iteration struct {
	Products []IterationProduct
	Rest     float64 // operations besides
}

// An IterationProduct is a sum of products by constants of so many bytes.
type IterationProduct struct {
	Flops   float64
	Weights int
}

// LoopPartsDecision is in how many parts of its rows, which do not depend on each other, a loop runs. Workers that share what each kernel computes meet
// before a product and behind it; those that run parts meet nobody, and read all constants. A package may run with one worker too.
func LoopPartsDecision(t *target.Target, rows int, it Iteration) choice.Decision {
	c := core{t}
	weights := 0
	for _, p := range it.Products {
		weights += p.Weights
	}
	kernels := 2*len(it.Products) + 1
	fetched := func(bytes float64) float64 {
		if weights <= Working(c.L2) {
			return c.FromL2(bytes)
		}
		return c.Again(bytes, weights)
	}
	// alone is the time of a worker that computes one of so many shares of the rows by one of so many shares of the constants.
	alone := func(ofRows, ofWeights int) float64 {
		cycles := float64(kernels)*callCycles + c.Flops(it.Rest)/float64(ofRows*ofWeights)
		for _, p := range it.Products {
			cycles += max(c.Flops(p.Flops)/float64(ofRows*ofWeights), fetched(float64(p.Weights)/float64(ofWeights)))
		}
		return cycles
	}
	cores := t.NumCores
	serial := alone(1, 1)
	shared := min(serial, alone(1, cores)+float64(kernels)*c.meeting())
	values := []choice.Value{{Text: "1", Cost: serial + float64(cores)*shared}}
	for parts := cores; parts <= min(rows, mostLoopParts*cores); parts++ {
		if rows%parts == 0 {
			rounds := (parts + cores - 1) / cores
			each := alone(parts, 1)
			values = append(values, choice.Value{Text: strconv.Itoa(parts), Cost: float64(parts)*each + float64(cores*rounds)*each})
		}
	}
	return choice.Least("loop_parts", values...)
}

// LoopParts is the number of parts that LoopPartsDecision has given.
func LoopParts(taken string) int {
	parts, err := strconv.Atoi(taken)
	if err != nil {
		return 1
	}
	return parts
}
