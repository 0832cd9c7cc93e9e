package verify

import (
	"fmt"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/host"
)

// referenceFits refuses a graph whose reference evaluation takes more memory than there is.
func referenceFits(g *graph.Graph) error {
	bytes, at := grapheval.Peak(g)
	where := "its inputs"
	if at != nil {
		where = fmt.Sprintf("most at node %s %v", at.Op.Name, at.Origin)
	}
	return host.CheckMemory("the reference evaluation", bytes, where)
}

// runFits refuses a module whose run takes more memory than there is; the caller holds its inputs, and copies of its outputs.
func runFits(r *compile.Result, workers int) error {
	memory := r.Memory(workers)
	return host.CheckMemory("the run", memory.Run+memory.Outputs, memory.String()+", and a copy of the outputs")
}
