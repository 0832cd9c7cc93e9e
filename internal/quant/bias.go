package quant

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// biasRounds is the greatest number of rounds in which biases are corrected. A round corrects a run of layers by what they make of results of
// layers that are corrected; more rounds than layers are none.
const biasRounds = 16

// correctBiases adds to biases what rounding takes from the mean of each channel of a layer's sums, front to back (Nagel et al., 2019), as
// far as the outputs gain by it. It returns the given choices where they never do.
func (s *static) correctBiases(best *choices) (*choices, error) {
	c := best
	rounds := min(biasRounds, len(s.layers))
	for round := 0; ; round++ {
		means := s.noMeans()
		s.progress("correcting biases", round, rounds)
		d := *c
		var err error
		if d.sqnr, err = s.sqnr(&d, noFloor, func(results []*tensor.Tensor) { s.addMeans(means, results) }); err != nil {
			return nil, err
		}
		if d.sqnr > best.sqnr {
			d.corrected = round > 0
			best = &d
		}
		if round == rounds {
			return best, nil
		}
		next := d
		next.biases = append([]*tensor.Tensor{}, d.biases...)
		for i := round * len(s.layers) / rounds; i < (round+1)*len(s.layers)/rounds; i++ {
			b := tensor.New(types.F32, c.biases[i].Shape...)
			for k := range b.Len() {
				b.SetFloat(k, c.biases[i].Float(k)+(c.cal.means[i][k]-means[i][k])/float64(s.trial.count))
			}
			next.biases[i] = b
		}
		c = &next
	}
}
