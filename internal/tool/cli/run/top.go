package run

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"lathe/internal/tensor"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
	"lathe/runtime"
)

// scores are the values of the classes in the first row of an output.
type scores struct {
	shape   []int
	integer bool // the output's element type is
	values  []float64
	// Integers q stand for scale (q - zero); scale is 0 where they stand for themselves, or values are no integers.
	scale float64
	zero  int
	step  float64 // between values that are next to each other, 0 where that is not known
}

// classes is the last extent that is not 1.
func classes(shape []int) int {
	for _, dim := range slices.Backward(shape) {
		if dim != 1 {
			return dim
		}
	}
	return 1
}

// scoresOf takes the first row along the last axis that is not 1: outputs of networks that end with pooling have the
// shape 1x1000x1x1.
func scoresOf(a npz.Array, info runtime.TensorInfo) (*scores, error) {
	d, err := types.ParseDType(a.DType)
	if err != nil {
		return nil, err
	}
	n := classes(a.Shape)
	t := tensor.Over(d, a.Shape, a.Data)
	if n == 0 || t.Len() == 0 {
		return nil, fmt.Errorf("the output %s%s is empty", a.DType, cli.ShapeText(a.Shape))
	}
	s := &scores{shape: a.Shape, integer: d.IsInt(), step: info.Scale}
	if s.integer {
		s.scale, s.zero = info.Scale, info.Zero
	}
	for i := range n {
		s.values = append(s.values, t.Float(i))
	}
	return s, nil
}

// top returns the places of the n greatest values, best first; NaN comes last.
func (s *scores) top(n int) []int {
	order := make([]int, len(s.values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.values[j], s.values[i]) })
	return order[:min(n, len(order))]
}

// real is what the values stand for.
func (s *scores) real() []float64 {
	if s.scale == 0 {
		return s.values
	}
	real := make([]float64, len(s.values))
	for i, q := range s.values {
		real[i] = s.scale * (q - float64(s.zero))
	}
	return real
}

// probabilities returns what the values stand for if those already are probabilities, else their softmax. Values in steps miss the sum of 1
// by half a step each.
func (s *scores) probabilities() (p []float64, already bool) {
	sum, greatest := 0.0, math.Inf(-1)
	already = true
	values := s.real()
	for _, v := range values {
		sum += v
		greatest = max(greatest, v)
		already = already && v >= 0 && v <= 1
	}
	if already && math.Abs(sum-1) < 1e-3+0.5*s.step*float64(len(values)) {
		return values, true
	}
	p = make([]float64, len(values))
	sum = 0
	for i, v := range values {
		p[i] = math.Exp(v - greatest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, false
}

// print prints the lines of the C++ runner that users of TVM know.
func (s *scores) print(w io.Writer, title string, n int, labels []string) {
	fmt.Fprint(w, "Output shape: ")
	for _, d := range s.shape {
		fmt.Fprintf(w, "%d ", d)
	}
	mean, values := 0.0, s.real()
	for _, v := range values {
		mean += v / float64(len(values))
	}
	p, already := s.probabilities()
	what := "Logits"
	if already {
		what = "Probabilities"
	}
	fmt.Fprintf(w, "\n%s range: [%.6g, %.6g], mean: %.6g\n", what, slices.Min(values), slices.Max(values), mean)
	name := func(i int) string {
		if i < len(labels) {
			return excerpt.Line(labels[i])
		}
		return fmt.Sprintf("class %d", i)
	}
	best := s.top(n)
	fmt.Fprintf(w, "\n===== Running %s =====\nTop-%d Predictions:\n", excerpt.Line(title), len(best))
	for rank, i := range best {
		fmt.Fprintf(w, "  %d) id=%d  p=%.6g  %s\n", rank+1, i, p[i], name(i))
	}
	fmt.Fprintf(w, "Predicted class: %d (%s)\n", best[0], name(best[0]))
}
