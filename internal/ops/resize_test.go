package ops

import (
	"math"
	"testing"

	"lathe/internal/tensor"
)

// TestAntialiasOfEverySize resamples every short axis to every other one and compares with the definition written in
// float64: a place is the mean of the elements around it, weighed by a kernel that widens as the axis shrinks. Places that
// fall on an element are no exception.
func TestAntialiasOfEverySize(t *testing.T) {
	place := map[string]func(i, in, out float64) float64{
		"half_pixel":    func(i, in, out float64) float64 { return (i+0.5)*in/out - 0.5 },
		"asymmetric":    func(i, in, out float64) float64 { return i * in / out },
		"align_corners": func(i, in, out float64) float64 { return i * (in - 1) / max(out-1, 1) },
	}
	data := []float64{3, -1, 4, 1.5, -5, 9, 2}
	for mode, at := range place {
		for _, method := range []string{"linear", "cubic"} {
			for _, exclude := range []bool{false, true} {
				for in := 1; in <= len(data); in++ {
					for out := 1; out <= 7; out++ {
						a := ResizeAttrs{Sizes: []int{out}, Method: method, CoordinateTransformationMode: mode, CubicCoeffA: -0.75, ExcludeOutside: exclude, Antialias: true}
						x, y := tensor.Of([]int{in}, data[:in]), tensor.Of([]int{out}, make([]float64, out))
						if err := Resize.Eval(a, []*tensor.Tensor{x}, []*tensor.Tensor{y}); err != nil {
							t.Fatal(err)
						}
						for i := range out {
							want := a.filtered(data[:in], at(float64(i), float64(in), float64(out)), min(1, float64(out)/float64(in)))
							if math.Abs(y.Float(i)-want) > 1e-9 {
								t.Errorf("%s %s exclude_outside=%v, %d to %d elements: element %d is %v instead of %v", method, mode, exclude, in, out, i, y.Float(i), want)
							}
						}
					}
				}
			}
		}
	}
}

// filtered is the mean of the elements around a place, each weighed by the kernel of its distance times scale.
func (a ResizeAttrs) filtered(data []float64, place, scale float64) float64 {
	sum, total := 0.0, 0.0
	for i := -40; i < 50; i++ {
		far := math.Abs(float64(i)-place) * scale
		if far > float64(a.radius())-1e-9 || a.ExcludeOutside && (i < 0 || i >= len(data)) {
			continue
		}
		w := a.kernel(far)
		sum, total = sum+w*data[max(0, min(len(data)-1, i))], total+w
	}
	return sum / total
}
