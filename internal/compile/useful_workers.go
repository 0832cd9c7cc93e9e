package compile

import (
	"lathe/internal/bundle"
	"lathe/internal/target"
	"lathe/internal/tool/explain"
)

// usefulWorkers returns how many workers a run can use, 0 for any number: doubled from 1 on as long as that pays, by the
// times that the target's model expects of the steps, and the meetings that workers need and one worker does not.
func usefulWorkers(m *bundle.Manifest, t *target.Target, meetings int) int {
	meetings += 2 // all start, all end
	meet := float64(meetings) * t.Speed().Meet / 1e6
	last := explain.Expected(m, t, 1)
	for n := 2; n <= manyWorkers; n *= 2 {
		now := explain.Expected(m, t, n) + meet
		if now > worthDoubling*last {
			return n / 2
		}
		last = now
	}
	return 0
}
