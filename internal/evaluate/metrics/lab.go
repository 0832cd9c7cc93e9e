package metrics

import "math"

// Lab are figures as the course "Deep learning in IoT" computes them, for comparing with its reports. Its mean precision divides
// by the samples of a class, which is recall, and its mean sensitivity and G-mean by what was predicted, which is precision; its
// top 5 percentage divides by samples times classes. A class without samples, or never predicted, makes them NaN.
type Lab struct {
	Accuracy, Precision, Sensitivity, GMean, Top5 float64
}

// LabOf computes them; top5 is how many samples have their class among the five greatest scores.
func (c *Confusion) LabOf(top5 int) Lab {
	total, classes := float64(c.Total()), float64(c.Classes)
	l := Lab{Accuracy: float64(c.Hits()) / total, Top5: float64(top5) / (total * classes), GMean: 1}
	for _, k := range c.PerClass() {
		hits := float64(c.At(k.Class, k.Class))
		l.Precision += hits / float64(k.Support) / classes
		l.Sensitivity += hits / float64(k.Predicted) / classes
		l.GMean *= hits / float64(k.Predicted)
	}
	l.GMean = math.Pow(l.GMean, 1/classes)
	return l
}
