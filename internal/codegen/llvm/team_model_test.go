package llvm

import (
	"fmt"
	"testing"
)

// explore walks through all states.
func (m *machine) explore() (states int, err error) {
	var first team
	for i := range m.workers {
		m.arrive(&first.workers[i], i)
	}
	seen := map[team]bool{first: true}
	for open := []team{first}; len(open) > 0; {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		stuck := true
		for me := range m.workers {
			next, moved, err := m.move(t, me)
			if err != nil {
				return len(seen), err
			}
			stuck = stuck && !moved
			if moved && !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
		if stuck && t.workers[0].at != left {
			return len(seen), fmt.Errorf("nobody moves: %+v", t)
		}
	}
	return len(seen), nil
}

// TestTeamModel: in whatever order workers move, every chunk is done once, not before what a barrier puts before it, and worker 0
// returns, when all is done, even if others never move. Without any part of the protocol that is not so.
func TestTeamModel(t *testing.T) {
	cases := [][]teamStep{
		{{2, false}, {1, true}, {3, true}},
		{{1, false}, {1, true}, {2, true}, {1, false}},
		{{3, false}, {2, false}, {2, true}},
	}
	for _, flaw := range []string{"", "compares chunks only", "does not look again", "sleeps in any case", "sleeps because of others", "tells too early"} {
		found := false
		for _, steps := range cases {
			for _, workers := range []int8{2, 3} {
				if flaw == "" && workers == 3 && testing.Short() {
					continue
				}
				if found {
					continue
				}
				m := &machine{steps: steps, workers: workers, flaw: flaw}
				states, err := m.explore()
				switch {
				case flaw != "":
					found = err != nil
				case err != nil:
					t.Errorf("%d workers, steps %v: %v", workers, steps, err)
				default:
					t.Logf("%d workers, steps %v: %d states", workers, steps, states)
				}
			}
		}
		if flaw != "" && !found {
			t.Errorf("nothing is wrong where a worker %s", flaw)
		}
	}
}
