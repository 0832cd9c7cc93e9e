package ops

import (
	"fmt"
	"math"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// A resample maps places on a resized axis to places on the original one: element i of the result lies at (a*i + b)/d,
// d > 0, in units of data's elements. Fractions keep ties and borders exact, and divisions by constants cheap and provable.
type resample struct {
	in, out int
	a, b, d int
	scale   fraction // size of the result over that of data, as asked for
	crop    bool     // places outside data have no value of their own
}

// axes gives the map of each axis.
func (a ResizeAttrs) axes(shape []int) ([]resample, error) {
	maps := make([]resample, len(shape))
	for k, n := range shape {
		p, q := max(a.Sizes[k], 1), max(n, 1)
		g := gcd(p, q)
		s := fraction{p / g, q / g}
		if len(a.Scales) > 0 {
			var err error
			if s, err = rational(a.Scales[k]); err != nil || s.p <= 0 {
				return nil, fmt.Errorf("scale %v of axis %d", a.Scales[k], k)
			}
		}
		m := resample{in: n, out: a.Sizes[k], scale: s}
		size := 4 * float64(n+m.out+2) * s.size() // bounds all products of the map
		if a.Antialias {
			size *= 8 * s.size()
		}
		if a.CoordinateTransformationMode == "tf_crop_and_resize" {
			start, err := rational(a.ROI[k])
			if err != nil {
				return nil, fmt.Errorf("roi: %w", err)
			}
			end, err := rational(a.ROI[len(shape)+k])
			if err != nil {
				return nil, fmt.Errorf("roi: %w", err)
			}
			if size *= float64(n+1) * start.size() * end.size(); size < 1<<60 {
				m.cropped(s, start, end)
			}
		} else if size < 1<<60 {
			m.scaled(a.CoordinateTransformationMode, s)
		}
		if size >= 1<<60 {
			return nil, fmt.Errorf("axis %d from %d to %s: places are not exact with scale %d/%d", k, n, spelling.Count(m.out, "element"), s.p, s.q)
		}
		g = gcd(gcd(abs(m.a), abs(m.b)), m.d)
		m.a, m.b, m.d = m.a/g, m.b/g, m.d/g
		maps[k] = m
	}
	return maps, nil
}

// ByAxis are resizes of data of a shape that give about the same one after the other, each of which interpolates along one axis, and those axes:
// the innermost while there are the fewest lines, behind the others that shrink and before those that grow. There is none where one way is as
// good as another: along one axis, or of the nearest elements.
func (a ResizeAttrs) ByAxis(shape []int) (steps []ResizeAttrs, along []int) {
	axes, err := a.axes(shape)
	if err != nil || a.Method == "nearest" || a.Antialias || slices.ContainsFunc(axes, func(x resample) bool { return x.crop || x.out == 0 }) {
		return nil, nil
	}
	var growing []int
	for k, x := range axes {
		switch {
		case x.whole():
		case x.out > x.in && k < len(axes)-1:
			growing = append([]int{k}, growing...)
		default:
			along = append(along, k)
		}
	}
	if along = append(along, growing...); len(along) < 2 {
		return nil, nil
	}
	left := slices.Clone(shape)
	for i, k := range along {
		step := a
		step.Sizes, step.Scales, step.ROI = slices.Clone(left), slices.Clone(a.Scales), nil
		for j, x := range axes {
			if j == k || i == 0 && x.whole() {
				step.Sizes[j] = x.out
			} else if len(a.Scales) > 0 {
				step.Scales[j] = 1
			}
		}
		maps, err := step.axes(left)
		if err != nil {
			return nil, nil
		}
		for j, x := range maps {
			if j != k && step.Sizes[j] == left[j] && !(x.whole() && x.floor(0) == 0 && x.floor(x.out-1) == x.out-1) { // a mode that moves what keeps its size
				return nil, nil
			}
		}
		left = step.Sizes
		steps = append(steps, step)
	}
	return steps, along
}

// scaled sets the map for all coordinate modes but tf_crop_and_resize, for scale s. The formulas are ONNX's.
func (m *resample) scaled(mode string, s fraction) {
	p, q := s.p, s.q
	switch mode {
	case "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric": // (i + 1/2)/s - 1/2
		m.a, m.b, m.d = 2*q, q-p, 2*p
		if mode == "pytorch_half_pixel" && m.out <= 1 {
			m.a, m.b, m.d = 0, 0, 1
		}
		if mode == "half_pixel_symmetric" { // + in/2 * (1 - out/(s*in))
			m.b += m.in*p - m.out*q
		}
	case "align_corners": // i * (in-1)/(s*in-1)
		m.a, m.b, m.d = q*(m.in-1), 0, m.in*p-q
		if m.d <= 0 {
			m.a, m.d = 0, 1
		}
	case "asymmetric": // i/s
		m.a, m.b, m.d = q, 0, p
	case "tf_half_pixel_for_nn": // (i + 1/2)/s
		m.a, m.b, m.d = 2*q, q, 2*p
	}
}

// cropped sets the map for tf_crop_and_resize: start*(in-1) + i*(end-start)*(in-1)/(s*in-1), and the middle of the region
// where the axis shrinks to one element.
func (m *resample) cropped(s, start, end fraction) {
	m.crop = true
	length := end.p*start.q - start.p*end.q // over start.q*end.q
	last := m.in*s.p - s.q                  // s*in - 1, over s.q
	if last <= 0 {
		m.a, m.b, m.d = 0, (length+2*start.p*end.q)*(m.in-1), 2*start.q*end.q
		return
	}
	m.a, m.b, m.d = length*(m.in-1)*s.q, start.p*end.q*(m.in-1)*last, start.q*end.q*last
}

// whole reports whether every place is that of an element, so that there is nothing to interpolate: the axis keeps its
// size, or every n-th element is taken.
func (m resample) whole() bool {
	first, last := m.floor(0), m.floor(m.out-1)
	return m.d == 1 && min(first, last) >= 0 && max(first, last) < m.in
}

func (m resample) floor(i int) int { return floorDivide(m.a*i+m.b, m.d) }

// fraction is how far behind its floor a place is, in [0, 1).
func (m resample) fraction(i int) float64 {
	return float64(m.a*i+m.b-m.floor(i)*m.d) / float64(m.d)
}

func (m resample) inside(i int) bool {
	n := m.a*i + m.b
	return !m.crop || n >= 0 && n <= (m.in-1)*m.d
}

func (m resample) nearest(mode string, i int) int {
	mul, add := m.rounding(mode)
	return max(0, min(m.in-1, floorDivide(mul*(m.a*i+m.b)+add, mul*m.d)))
}

// rounding gives mul and add such that the place n/d rounds to floor((mul*n + add)/(mul*d)).
func (m resample) rounding(mode string) (mul, add int) {
	switch mode {
	case "ceil":
		return 1, m.d - 1
	case "round_prefer_floor":
		return 2, m.d - 1
	case "round_prefer_ceil":
		return 2, m.d
	}
	return 1, 0
}

// affine is a*i + b.
func affine(a int, i expr.Expr, b int) expr.Expr {
	if a == 0 {
		return expr.Index(b)
	}
	return scaled(a, i, b)
}

// affineFloor is (a*i + b)/d rounded down. What a and d have in common divides b first: (4*i + 1)/8 is i/2.
func affineFloor(a int, i expr.Expr, b, d int) expr.Expr {
	g := gcd(abs(a), d)
	return quotient(affine(a/g, i, floorDivide(b, g)), d/g)
}

func (m resample) floorExpr(i expr.Expr) expr.Expr { return affineFloor(m.a, i, m.b, m.d) }

func (m resample) fractionExpr(i expr.Expr, t types.DType) expr.Expr {
	return expr.Mul(expr.CastTo(t, remainder(affine(m.a, i, m.b), m.d)), expr.Const(t, 1/float64(m.d)))
}

// insideExpr is the condition under which a place has a value; nil means always.
func (m resample) insideExpr(i expr.Expr) expr.Expr {
	if !m.crop || m.inside(0) && m.inside(m.out-1) {
		return nil
	}
	n := affine(m.a, i, m.b)
	return expr.AllOf(expr.GE(n, expr.Index(0)), expr.LE(n, expr.Index((m.in-1)*m.d)))
}

func (m resample) nearestExpr(mode string, i expr.Expr) expr.Expr {
	mul, add := m.rounding(mode)
	e := affineFloor(mul*m.a, i, mul*m.b+add, mul*m.d)
	// The map is monotonic: its ends decide whether a clamp is needed.
	at := func(i int) int { return floorDivide(mul*(m.a*i+m.b)+add, mul*m.d) }
	if first, last := at(0), at(m.out-1); min(first, last) >= 0 && max(first, last) < m.in {
		return e
	}
	return clampExpr(e, m.in)
}

// A fraction is p/q with q > 0.
type fraction struct{ p, q int }

// size bounds what a number grows by when it is multiplied with the parts of f.
func (f fraction) size() float64 { return math.Abs(float64(f.p)) + float64(f.q) }

// rational is the simplest fraction a float32 attribute stands for: 0.6 is 3/5. It is found by continued fractions.
func rational(x float64) (fraction, error) {
	if !(math.Abs(x) <= 1<<20) || x != 0 && math.Abs(x) < 1.0/(1<<20) {
		return fraction{}, fmt.Errorf("%v is out of range", x)
	}
	p0, q0, p1, q1 := 0, 1, 1, 0
	for rest := math.Abs(x); ; {
		n := math.Floor(rest)
		p0, q0, p1, q1 = p1, q1, int(n)*p1+p0, int(n)*q1+q0
		got := float64(p1) / float64(q1)
		if math.Abs(got-math.Abs(x)) <= math.Abs(x)*0x1p-24 || rest == n {
			break
		}
		rest = 1 / (rest - n)
	}
	if x < 0 {
		p1 = -p1
	}
	return fraction{p1, q1}, nil
}

// floorDivide is a/b rounded down, b > 0.
func floorDivide(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func abs(x int) int { return max(x, -x) }
