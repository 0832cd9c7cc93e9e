package compile

import (
	"fmt"

	"lathe/internal/bundle"
	"lathe/internal/graph"
	"lathe/internal/grapheval"
	"lathe/runtime"
)

// runMemory is what a run of the planned model takes.
func (c *compiler) runMemory() bundle.Memory {
	memory := c.manifest().Memory(c.Workers)
	for _, k := range c.consts {
		memory.Weights += int64(k.value.Type.Bytes())
	}
	return memory
}

// Memory is what a run of r takes with a number of workers.
func (r *Result) Memory(workers int) bundle.Memory {
	memory := r.Contents.Manifest.Memory(workers)
	for _, p := range r.Contents.Params {
		memory.Weights += int64(len(p.Data))
	}
	return memory
}

// referenceFits refuses a graph whose reference evaluation takes more memory than there is.
func referenceFits(g *graph.Graph) error {
	bytes, at := grapheval.Peak(g)
	where := "its inputs"
	if at != nil {
		where = fmt.Sprintf("most at node %s %v", at.Op.Name, at.Origin)
	}
	return runtime.CheckMemory("the reference evaluation", bytes, where)
}

// runFits refuses a module whose run takes more memory than there is; the caller holds its inputs, and copies of its outputs.
func (r *Result) runFits(workers int) error {
	memory := r.Memory(workers)
	return runtime.CheckMemory("the run", memory.Run+memory.Outputs, memory.String()+", and a copy of the outputs")
}
