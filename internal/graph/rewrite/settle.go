package rewrite

// Settle runs sweep until it changes nothing. measure is a whole number, never negative, that each sweep with a change makes
// smaller: one that does not is the last, so that sweeps come to an end whatever they do. fell reports that none was.
func Settle(measure func() int, sweep func() (changed bool, err error)) (fell bool, err error) {
	for before := measure(); ; {
		changed, err := sweep()
		if err != nil || !changed {
			return true, err
		}
		after := measure()
		if after >= before {
			return false, nil
		}
		before = after
	}
}
