package quant

// A Report tells what was quantised, how, and what it costs.
type Report struct {
	Layers    []LayerReport `json:"layers"`
	Points    []PointReport `json:"points"`
	SQNR      float64       `json:"sqnr_db"`   // at the outputs, of the simulation
	Equalized float64       `json:"equalized"` // strength of the equalisation of channels; 0: none
	Corrected bool          `json:"bias_corrected"`
	Judged    *Judgement    `json:"judged,omitempty"`
	Trials    int           `json:"trials"` // runs of the simulation on the samples of a trial
}

// LayerReport is a product of the network.
type LayerReport struct {
	Name     string  `json:"name"`
	Operator string  `json:"operator"`
	Bits     int     `json:"bits"`              // of the weights: 4 or 8, or 32 where the layer stays float
	Gain     float64 `json:"gain_db,omitempty"` // of the ratio at the outputs when it alone is float, where layers were compared
	Why      string  `json:"why,omitempty"`
	// SQNR of the quantised weights, in dB, where these alone are quantised, or data by the range of each run.
	SQNR float64 `json:"weights_sqnr_db,omitempty"`
}

// PointReport is a value that is kept as integers.
type PointReport struct {
	Name    string  `json:"name"`
	Mode    string  `json:"mode"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Scale   float64 `json:"scale"`
	Zero    int     `json:"zero_point"`
	Clipped float64 `json:"clipped"` // share of the numbers beyond the range
}

func (s *static) report(c *choices) *Report {
	r := &Report{Trials: s.runs, SQNR: c.sqnr, Equalized: c.strength, Corrected: c.corrected, Judged: c.judged}
	for _, l := range s.all {
		row := LayerReport{Name: l.name(), Operator: l.node.Op.Name, Bits: 8, Gain: l.gain, Why: l.why}
		if l.why != "" {
			row.Bits = 32
		}
		r.Layers = append(r.Layers, row)
	}
	for i, p := range s.points {
		if c.params[i].Scale == 0 {
			continue
		}
		row := PointReport{Name: p.value.Name, Mode: c.modes[c.cal.set[i]], Min: c.ranges[i].Min, Max: c.ranges[i].Max, Scale: float64(c.params[i].Scale), Zero: c.params[i].Zero}
		if p.source {
			row.Clipped = c.cal.stats[i].Clipped(c.ranges[i])
		}
		r.Points = append(r.Points, row)
	}
	return r
}
