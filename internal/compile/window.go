package compile

import (
	"lathe/internal/bundle"
	"lathe/internal/graph"
)

// longestWindow bounds the search for windows, whose time grows with the cube of it.
const longestWindow = 64

// window is the last step from which on the steps up to i can be run again and again, and touch as many bytes before it as bring the caches
// into the state of a run: twice what L2 holds, or L3 where not all of the network is there. The whole network always can.
func (s *Session) window(i int) int {
	t := s.job.Target
	need, all := 2*t.L2, s.mem.Bytes()
	if l3 := t.L3 * t.NumCores; all > l3 {
		need = max(need, 2*l3)
	}
	touched := 0
	for from := i - 1; from >= max(0, i-longestWindow); from-- {
		st := s.program.steps[from]
		if st.bodies != nil {
			break
		}
		for _, v := range st.Values() {
			touched += v.Type.Bytes()
		}
		if touched >= need && s.repeatable(from, i) {
			return from
		}
	}
	return 0
}

// repeatable reports whether no step of [from, to] writes over what one of them reads that was there before.
func (s *Session) repeatable(from, to int) bool {
	written := map[*graph.Value]bool{}
	var before []bundle.Place
	for _, st := range s.program.steps[from : to+1] {
		for _, v := range st.In {
			if !written[v] && !v.IsConst() {
				before = append(before, s.placeOf(v))
			}
		}
		for _, v := range st.Out {
			written[v] = true
		}
	}
	for _, st := range s.program.steps[from : to+1] {
		for _, v := range st.Out {
			at := s.placeOf(v)
			for _, p := range before {
				if at.Overlaps(p) {
					return false
				}
			}
		}
	}
	return true
}
