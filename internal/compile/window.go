package compile

import (
	"slices"

	"lathe/internal/bundle"
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

// window is the last step from which on the steps up to i touch so many bytes before it, or as many steps as an iteration of a loop has,
// which no cache tells from all those before. kept is what they write over and read before: with it as it was they can be run again and
// again. The whole network always can.
func (s *Session) window(i, need int) (from int, kept []bundle.Place) {
	touched := 0
	for from := i - 1; from >= max(0, i-longestWindow) && s.walk[from].bodies == nil; from-- {
		if touched += s.touches(from); touched >= need || i-from == s.walk[i].cycle {
			return from, s.overwritten(from, i)
		}
	}
	return 0, nil
}

func (s *Session) touches(step int) (bytes int) {
	for _, v := range s.walk[step].Values() {
		bytes += v.Type.Bytes()
	}
	return bytes
}

// overwritten are the places that the steps of [from, to] read as they were before, and write over.
func (s *Session) overwritten(from, to int) (list []bundle.Place) {
	var written []bundle.Place
	for _, st := range s.walk[from : to+1] {
		written = append(written, st.places(st.Out)...)
	}
	seen := map[bundle.Place]bool{}
	for _, st := range s.walk[from : to+1] {
		for _, at := range st.places(st.In) {
			if seen[at] || at.Kind == bundle.InParam {
				continue
			}
			seen[at] = true
			if slices.ContainsFunc(written, at.Overlaps) {
				list = append(list, at)
			}
		}
		for _, at := range st.places(st.Out) {
			seen[at] = true
		}
	}
	return list
}

// recent are the operands of step i that earlier steps have left in a core's cache: those that were written or read while no more bytes
// were touched than it holds. The latest is the last.
func (s *Session) recent(i int) (list []bundle.Place) {
	wanted := map[bundle.Place]bool{}
	for _, at := range s.walk[i].places(s.walk[i].In) {
		wanted[at] = at.Kind == bundle.InWorkspace || at.Kind == bundle.InParam
	}
	touched := 0
	for from := i - 1; from >= 0 && touched < s.job.Target.L2; from-- {
		st := s.walk[from]
		if st.bodies != nil {
			break
		}
		for _, at := range st.places(st.Values()) {
			if wanted[at] {
				list = append([]bundle.Place{at}, list...)
				delete(wanted, at)
			}
		}
		touched += s.touches(from)
	}
	return list
}
