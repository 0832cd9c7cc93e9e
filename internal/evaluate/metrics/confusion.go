// Package metrics is how good a classifier is and how two of them differ, as statistics defines it. It knows no models: all is
// computed from classes, scores and times.
package metrics

import "math"

// A Confusion counts samples by their class and by what was predicted: At(truth, predicted).
type Confusion struct {
	Classes int
	counts  []int
}

// NewConfusion counts nothing yet of so many classes.
func NewConfusion(classes int) *Confusion {
	return &Confusion{classes, make([]int, classes*classes)}
}

// Add counts a sample. Both classes are below Classes.
func (c *Confusion) Add(truth, predicted int) { c.counts[truth*c.Classes+predicted]++ }

// At is how many samples of a class were taken for another, or for itself.
func (c *Confusion) At(truth, predicted int) int { return c.counts[truth*c.Classes+predicted] }

// Total is the number of samples, Hits of those whose class was predicted.
func (c *Confusion) Total() (n int) {
	for _, k := range c.counts {
		n += k
	}
	return n
}

// Hits is the number of samples whose class was predicted.
func (c *Confusion) Hits() (n int) {
	for i := range c.Classes {
		n += c.At(i, i)
	}
	return n
}

// Class is how well one class is told from the others. Precision is 0 where the class was never predicted, recall (sensitivity)
// 0 where it has no samples, F1 0 where both are.
type Class struct {
	Class     int     `json:"class"`
	Name      string  `json:"name"`
	Support   int     `json:"support"`   // samples of the class
	Predicted int     `json:"predicted"` // samples taken for it
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	AUC       float64 `json:"auc,omitempty"` // one class against all others
}

// PerClass computes the figures of each class, those without samples included.
func (c *Confusion) PerClass() []Class {
	list := make([]Class, c.Classes)
	for i := range list {
		k := &list[i]
		k.Class = i
		for j := range c.Classes {
			k.Support += c.At(i, j)
			k.Predicted += c.At(j, i)
		}
		hits := float64(c.At(i, i))
		k.Precision, k.Recall = ratio(hits, float64(k.Predicted)), ratio(hits, float64(k.Support))
		k.F1 = ratio(2*k.Precision*k.Recall, k.Precision+k.Recall)
	}
	return list
}

// ratio is a / b, and 0 for nothing of nothing.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Means are over the classes that have samples: plain, or weighted by samples.
type Means struct {
	Precision         float64 `json:"precision"`
	Recall            float64 `json:"recall"` // balanced accuracy
	F1                float64 `json:"f1"`
	WeightedPrecision float64 `json:"weighted_precision"`
	WeightedF1        float64 `json:"weighted_f1"`
	GMean             float64 `json:"g_mean"` // geometric mean of recalls
	AUC               float64 `json:"auc,omitempty"`
	Absent            []int   `json:"absent,omitempty"` // classes without samples, which are left out
}

// Mean computes the means.
func Mean(classes []Class) Means {
	var m Means
	n, samples, logs := 0.0, 0.0, 0.0
	for _, k := range classes {
		if k.Support == 0 {
			m.Absent = append(m.Absent, k.Class)
			continue
		}
		w := float64(k.Support)
		n++
		samples += w
		m.Precision += k.Precision
		m.Recall += k.Recall
		m.F1 += k.F1
		m.AUC += k.AUC
		m.WeightedPrecision += w * k.Precision
		m.WeightedF1 += w * k.F1
		logs += math.Log(k.Recall) // of 0: the mean is 0
	}
	if n == 0 {
		return m
	}
	for _, v := range []*float64{&m.Precision, &m.Recall, &m.F1, &m.AUC} {
		*v /= n
	}
	m.WeightedPrecision /= samples
	m.WeightedF1 /= samples
	m.GMean = math.Exp(logs / n)
	return m
}

// An Interval is a share of samples, and between which bounds it lies in the population with a confidence of 95 %.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// z is the quantile of the normal distribution for 95 %, on both sides.
const z = 1.959963984540054

// Wilson is hits of n samples with Wilson's score interval (Probable Inference, 1927).
func Wilson(hits, n int) Interval {
	if n == 0 {
		return Interval{0, 0, 1}
	}
	N := float64(n)
	p := float64(hits) / N
	centre := (p + z*z/(2*N)) / (1 + z*z/N)
	half := z / (1 + z*z/N) * math.Sqrt(p*(1-p)/N+z*z/(4*N*N))
	return Interval{p, max(0, centre-half), min(1, centre+half)}
}
