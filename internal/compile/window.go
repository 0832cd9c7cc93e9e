package compile

import (
	"lathe/internal/bundle"
	"lathe/internal/graph"
)

// longestWindow bounds the search for windows.
const longestWindow = 64

// inRun is how many bytes the steps before one touch that bring the caches into the state of a run: twice what L2 holds, or L3 where not
// all of the network is there.
func (s *Session) inRun() int {
	if l3, all := s.job.Target.L3*s.job.Target.NumCores, s.mem.Bytes(); all > l3 {
		return max(s.Evict(), 2*l3)
	}
	return s.Evict()
}

// emptying is how many bytes they touch that leave nothing in the L2 of any core, whatever L3 holds.
func (s *Session) emptying() int { return min(s.Evict()*s.job.Target.NumCores, s.inRun()) }

// window is the last step from which on the steps up to i touch so many bytes before it. kept is what they write over and read before: with
// it as it was they can be run again and again. The whole network always can.
func (s *Session) window(i, need int) (from int, kept []bundle.Place) {
	touched := 0
	for from := i - 1; from >= max(0, i-longestWindow) && s.program.steps[from].bodies == nil; from-- {
		if touched += s.touches(from); touched >= need {
			return from, s.overwritten(from, i)
		}
	}
	return 0, nil
}

func (s *Session) touches(step int) (bytes int) {
	for _, v := range s.program.steps[step].Values() {
		bytes += v.Type.Bytes()
	}
	return bytes
}

// overwritten are the places that the steps of [from, to] read as they were before, and write over.
func (s *Session) overwritten(from, to int) (list []bundle.Place) {
	var written []bundle.Place
	for _, st := range s.program.steps[from : to+1] {
		for _, v := range st.Out {
			written = append(written, contextPlace(v, s.mem))
		}
	}
	inside, seen := map[*graph.Value]bool{}, map[*graph.Value]bool{}
	for _, st := range s.program.steps[from : to+1] {
		for _, v := range st.In {
			if inside[v] || seen[v] || v.IsConst() {
				continue
			}
			seen[v] = true
			at := contextPlace(v, s.mem)
			for _, p := range written {
				if at.Overlaps(p) {
					list = append(list, at)
					break
				}
			}
		}
		for _, v := range st.Out {
			inside[v] = true
		}
	}
	return list
}

// recent are the operands of step i that earlier steps have left in a core's cache: those that were written or read while no more bytes
// were touched than it holds. The latest is the last.
func (s *Session) recent(i int) (list []bundle.Place) {
	wanted := map[*graph.Value]bool{}
	for _, v := range s.program.steps[i].In {
		wanted[v] = true
	}
	touched := 0
	for from := i - 1; from >= 0 && touched < s.job.Target.L2; from-- {
		st := s.program.steps[from]
		if st.bodies != nil {
			break
		}
		for _, v := range st.Values() {
			if at := contextPlace(v, s.mem); wanted[v] && at.Kind == bundle.InWorkspace {
				list = append([]bundle.Place{at}, list...)
				delete(wanted, v)
			}
		}
		touched += s.touches(from)
	}
	return list
}
