package bundle

import (
	"fmt"

	"lathe/internal/tool/spelling"
)

// Memory is what a run of a package takes, in bytes.
type Memory struct {
	Run       int64 `json:"run_bytes"` // all but the weights
	Workspace int64 `json:"workspace_bytes"`
	Scratch   int64 `json:"scratch_bytes"` // of all workers
	Inputs    int64 `json:"input_bytes"`
	Outputs   int64 `json:"output_bytes"`
	Workers   int   `json:"workers"`
	Weights   int64 `json:"weight_bytes,omitempty"` // read where the package lies: the system takes them back when memory is short; 0 where that is not known
}

// Memory returns what a run with a number of workers takes, but for the weights, which a manifest does not know. A manifest that
// was checked has no sizes whose sum wraps.
func (m *Manifest) Memory(workers int) Memory {
	if m.MaxWorkers > 0 {
		workers = min(workers, m.MaxWorkers)
	}
	memory := Memory{
		Workspace: int64(m.Workspace), Scratch: int64(m.Scratch) * int64(workers), Workers: workers,
		Inputs: totalSize(m.Inputs), Outputs: totalSize(m.Outputs),
	}
	memory.Run = memory.Workspace + memory.Scratch + memory.Inputs + memory.Outputs
	return memory
}

// Memory returns what a run with a number of workers takes.
func (p *Package) Memory(workers int) Memory {
	memory := p.Manifest.Memory(workers)
	for _, c := range p.Params {
		memory.Weights += int64(c.Size())
	}
	return memory
}

func totalSize(ts []TensorInfo) (total int64) {
	for _, t := range ts {
		n, err := t.ByteSize()
		if err != nil { // larger than any memory
			n = maxBytes
		}
		total += int64(n)
	}
	return total
}

// String says what Run is the sum of.
func (m Memory) String() string {
	scratch := ""
	if m.Scratch > 0 {
		scratch = fmt.Sprintf(", scratch %s with %s", SizeText(m.Scratch), spelling.Count(m.Workers, "worker"))
		if m.Workers == 1 {
			scratch = fmt.Sprintf(", scratch %s", SizeText(m.Scratch))
		}
	}
	return fmt.Sprintf("work space %s%s, inputs %s, outputs %s", SizeText(m.Workspace), scratch, SizeText(m.Inputs), SizeText(m.Outputs))
}

// SizeText is a number of bytes as people read it.
func SizeText(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 10<<unit.shift {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(int64(1)<<unit.shift), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
