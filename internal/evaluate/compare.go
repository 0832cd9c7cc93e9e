package evaluate

import (
	"math"

	"lathe/internal/evaluate/metrics"
)

// Comparison is how a variant differs from the baseline.
type Comparison struct {
	Agreement metrics.Interval `json:"agreement"` // samples with the same class
	Lost      int              `json:"lost"`      // that the baseline alone has right
	Won       int              `json:"won"`       // that this one alone has right
	P         float64          `json:"mcnemar_p"`
	SQNR      *float64         `json:"sqnr_db,omitempty"` // of the scores; null and absent where it is infinite or unknown
	Equal     bool             `json:"equal"`             // all scores have the same bits
}

// compare sets every variant against the baseline, on the samples that both have.
func (r *Report) compare() {
	var base *VariantReport
	for _, v := range r.Variants {
		if v.Name == r.Baseline && v.Samples > 0 {
			base = v
		}
	}
	for _, v := range r.Variants {
		if base == nil || v == base || v.Samples == 0 {
			continue
		}
		if v.Times != nil && base.Times != nil && v.Times.Median > 0 {
			v.Speedup = base.Times.Median / v.Times.Median
		}
		of := make(map[string]*prediction, len(base.rows))
		for i := range base.rows {
			of[base.rows[i].file] = &base.rows[i]
		}
		v.Against = v.against(of, base.integer || v.integer)
	}
}

func (v *VariantReport) against(base map[string]*prediction, integer bool) *Comparison {
	c := &Comparison{Equal: true}
	var energy metrics.Energies
	same, both, scored := 0, 0, true
	for _, p := range v.rows {
		b := base[p.file]
		if b == nil {
			continue
		}
		both++
		if p.predicted == b.predicted {
			same++
		}
		if p.label >= 0 && p.predicted != b.predicted {
			if b.predicted == b.label {
				c.Lost++
			}
			if p.predicted == p.label {
				c.Won++
			}
		}
		if scored = scored && len(b.scores) > 0 && len(b.scores) == len(p.scores); scored {
			energy.Add(b.scores, p.scores)
		}
	}
	c.Agreement, c.P = metrics.Wilson(same, both), metrics.McNemar(c.Lost, c.Won)
	c.Equal = scored && energy.Noise == 0
	if db := energy.SQNR(); scored && !integer && !math.IsInf(db, 0) && !math.IsNaN(db) {
		c.SQNR = &db
	}
	return c
}
