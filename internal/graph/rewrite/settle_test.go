package rewrite

import "testing"

// TestSettle: sweeps end where the measure stops to fall, and when there is nothing left to do.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		measures []int // before each sweep, all of which change something but the last
		sweeps   int
		fell     bool
	}{
		{[]int{9, 5, 4}, 3, true},
		{[]int{9}, 1, true},
		{[]int{9, 5, 5, 4}, 2, false},
		{[]int{9, 5, 6, 4}, 2, false},
	} {
		at := 0
		fell, err := Settle(func() int { return c.measures[at] }, func() (bool, error) {
			if at == len(c.measures)-1 {
				at++
				return false, nil
			}
			at++
			return true, nil
		})
		if err != nil || fell != c.fell || at != c.sweeps {
			t.Errorf("%v: fell %v, %v after %d sweeps", c.measures, fell, err, at)
		}
	}
}
