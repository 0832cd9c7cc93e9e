package compile

import (
	"lathe/internal/codegen/llvm"
	"lathe/internal/graph"
)

// mostSwung are the chunks into which a step that swings is cut at most, for each worker: each begins anew, and what is left of the first is
// not there any more behind the last.
const mostSwung = 8

// swing has the steps of a loop's body take the chunks of their constants there and back where a core's L2 does not hold what all of them read:
// an iteration that begins where the one before has ended finds there as much as L2 holds, and from the beginning nothing.
func swing(j *job, body *program, calls []llvm.Step) {
	seen, total := map[*graph.Value]bool{}, 0
	own := make([]int, len(calls))
	for i, s := range body.steps {
		for _, v := range s.In {
			if v.Const == nil {
				continue
			}
			own[i] += v.Type.Bytes()
			if !seen[v] {
				seen[v] = true
				total += v.Type.Bytes()
			}
		}
	}
	l2 := j.Target.L2
	if l2 == 0 || total < l2-l2/4 { // a quarter is for data
		return
	}
	for i := range calls {
		c := &calls[i]
		if c.Loop != nil || c.Serial || own[i] < l2/mostSwung {
			continue
		}
		if chunks := swungChunks(c.Chunks, c.Extent); chunks > 1 {
			c.Swings, c.Chunks = true, chunks
		}
	}
}

// swungChunks is into how many chunks for each worker a step of so many iterations is cut that would be cut into so many and swings. It is 1 where no
// power of two of them fits.
func swungChunks(chunks, extent int) int {
	chunks = max(1, chunks)
	for chunks > max(1, extent) {
		chunks /= 2
	}
	for chunks < mostSwung && 4*chunks <= extent {
		chunks *= 2
	}
	if chunks&(chunks-1) != 0 {
		return 1
	}
	return chunks
}
