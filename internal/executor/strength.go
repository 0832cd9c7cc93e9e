package executor

import "time"

// A strength says how many workers take part in a run: all, unless half of them, a quarter and so on take less time. Two threads of one
// core, cores whose caches have nothing in common or another program on one of them may lose more by meetings than a small network
// gains. It is found by trial: blocks of runs by one number and by another take turns, and the means of their times decide. Results do
// not depend on it.
type strength struct {
	most         int
	runs         int
	halved, step int        // how often that is halved, and how much oftener in the trial
	wait, rest   int        // runs between two trials, and before the next one
	run          int        // of the trial
	means        [2]float64 // ns of a run by the present number, and by that of the trial
}

// The first run of a block finds data and weights where other workers left them, and does not count. A trial ends early where it clearly
// loses, mostly with its first run, so that of many runs one in 500 takes longer, and none of the first ones.
const (
	trialBlock = 4                             // runs
	trialRuns  = 3 * (trialBlock + trialBlock) // of three blocks by either number
	trialLoss  = 1.15                          // times the present mean: the trial ends
	firstLoss  = 1.5                           // the same for a first run
	trialGain  = 0.97                          // times it: the trial is won
	firstWait  = 16                            // runs, before the first trial
	leastWait  = 64                            // runs
	mostWait   = 512
	longestRun = 50 * time.Millisecond // fewer workers are not tried for a longer one: meetings are no part of it, and its user would wait
)

// In one of so many runs all workers take part: what they claim is told apart from what was claimed 2^39 chunks ago and no earlier.
const wholeCrew = 1 << 16

func newStrength(workers int) strength {
	return strength{most: workers, step: min(1, workers-1), wait: leastWait, rest: firstWait}
}

// trial is 1 for the runs of a trial's other number, else 0.
func (s *strength) trial() int { return s.run / trialBlock % 2 }

// next is how many workers take part in the next run.
func (s *strength) next() int {
	if s.runs%wholeCrew == wholeCrew-1 {
		return s.most
	}
	return s.most >> (s.halved + s.trial()*s.step)
}

// settled is how many workers take part in runs that are no trial of another number.
func (s *strength) settled() int { return s.most >> s.halved }

// ran is called with the time of a run by next workers.
func (s *strength) ran(took time.Duration) {
	if s.runs++; s.runs%wholeCrew == 0 {
		return
	}
	if s.rest > 0 {
		s.rest--
		return
	}
	trial, run := s.trial(), s.run
	s.run++
	if run%trialBlock == 0 {
		if trial == 1 && float64(took) > firstLoss*s.means[0] {
			s.end(false)
		}
		return
	}
	count := run/(2*trialBlock)*(trialBlock-1) + run%trialBlock
	s.means[trial] += (float64(took) - s.means[trial]) / float64(count)
	switch {
	case trial == 1 && s.means[1] > trialLoss*s.means[0], trial == 0 && s.step > 0 && s.means[0] > float64(longestRun):
		s.end(false)
	case s.run == trialRuns:
		s.end(s.means[1] < trialGain*s.means[0])
	}
}

// end ends a trial and says what the next one tries: what is beyond a number that won, or what is on the other side of the present one.
func (s *strength) end(won bool) {
	if won {
		s.halved, s.wait = s.halved+s.step, leastWait
	} else {
		s.step, s.wait = -s.step, min(2*s.wait, mostWait)
	}
	if s.halved+s.step < 0 || s.most>>(s.halved+s.step) == 0 {
		s.step = -s.step
	}
	s.rest, s.run = s.wait, 0
}
