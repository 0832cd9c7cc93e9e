package ops

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/te/teinterp"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestComputeAgainstEval is the numeric test of every operator: on random uses its tensor expressions give what its
// reference evaluation gives. Integers and bool must agree exactly.
func TestComputeAgainstEval(t *testing.T) {
	for _, d := range All {
		t.Run(d.Name, func(t *testing.T) {
			sets, slack := []dataset{moderate, special}, 1.0
			if interpolates[d.Name] {
				sets, slack = sets[:1], 10
			}
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, 1))
				a, in := d.Sample(r)
				u := use{d, a, in}
				err := guard(func() error {
					out, err := u.infer()
					if err != nil {
						return fmt.Errorf("sample rejected: %w", err)
					}
					return u.compare(out, u.operands(r, sets[seed%uint64(len(sets))]), slack)
				})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, u, err)
				}
			}
		})
	}
}

// interpolates names the operators whose weights may be 0 in one precision and tiny in another: with infinite elements
// their results are Inf or NaN by rounding, so they are compared on finite ones. The rounding of a position is
// multiplied by the slope of the data there, hence the slack.
var interpolates = map[string]bool{
	"image.affine_grid": true, "image.grid_sample": true, "image.resize": true, "vision.roi_align": true,
}

// A use is an operator with attributes and operand types.
type use struct {
	def   *op.Def
	attrs any
	in    []types.Tensor
}

func (u use) String() string { return fmt.Sprintf("%s %+v of %v", u.def.Name, u.attrs, u.in) }

func (u use) infer() ([]types.Tensor, error) {
	args := make([]op.Arg, len(u.in))
	for i, t := range u.in {
		args[i].Tensor = t
	}
	return u.def.Infer(u.attrs, args)
}

func (u use) operands(r *rand.Rand, s dataset) []*tensor.Tensor {
	vals := make([]*tensor.Tensor, len(u.in))
	for i, t := range u.in {
		vals[i] = randomTensor(r, t, s)
	}
	return vals
}

// stages are the results as tensor expressions, over the inputs also returned.
func (u use) stages(out []types.Tensor) (outs, ins []*te.Stage) {
	ins = make([]*te.Stage, len(u.in))
	for i, t := range u.in {
		ins[i] = te.Input(fmt.Sprintf("x%d", i), t)
	}
	return u.def.Compute(u.attrs, ins, out), ins
}

// compare evaluates both ways. Errors may be slack times the tolerance.
func (u use) compare(out []types.Tensor, vals []*tensor.Tensor, slack float64) error {
	want := make([]*tensor.Tensor, len(out))
	for i, t := range out {
		want[i] = tensor.NewOf(t)
	}
	if err := u.def.Eval(u.attrs, vals, want); err != nil || u.def.Compute == nil {
		return err
	}
	outs, ins := u.stages(out)
	bound := map[*te.Stage]*tensor.Tensor{}
	for i, s := range ins {
		bound[s] = vals[i]
	}
	got, err := teinterp.Run(outs, bound)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, te.String(outs...))
	}
	for i := range want {
		if !outs[i].Type.Equal(out[i]) {
			return fmt.Errorf("result %d: stage of type %s, inferred %s", i, outs[i].Type, out[i])
		}
		if err := differ(got[i], want[i], slack*tolerance[out[i].DType]); err != nil {
			return fmt.Errorf("result %d: %w\n%s", i, err, te.String(outs...))
		}
	}
	return nil
}

// tolerance is the relative L2 error allowed: a few roundings of the type arithmetic happens in, or one of the stored type.
var tolerance = map[types.DType]float64{types.F64: 1e-13, types.F32: 1e-6, types.F16: 1e-3, types.BF16: 8e-3}

// differ compares two results: exactly, except that finite floats may be off by a relative L2 error.
func differ(got, want *tensor.Tensor, tolerance float64) error {
	if !want.DType.IsFloat() {
		if bytes.Equal(got.Bytes(), want.Bytes()) {
			return nil
		}
		for i := range want.Len() {
			if got.Int(i) != want.Int(i) {
				return fmt.Errorf("element %d is %d instead of %d", i, got.Int(i), want.Int(i))
			}
		}
	}
	diff, norm, worst, at := 0.0, 0.0, 0.0, 0
	for i := range want.Len() {
		g, w := got.Float(i), want.Float(i)
		if g == w || g != g && w != w {
			norm += finite(w) * finite(w)
			continue
		}
		if g-w != g-w || math.IsInf(g-w, 0) {
			return fmt.Errorf("element %d is %v instead of %v", i, g, w)
		}
		if d := math.Abs(g - w); d > worst {
			worst, at = d, i
		}
		diff, norm = diff+(g-w)*(g-w), norm+w*w
	}
	if diff > norm*tolerance*tolerance {
		return fmt.Errorf("relative error %.3g; element %d is %v instead of %v", math.Sqrt(diff/norm), at, got.Float(at), want.Float(at))
	}
	return nil
}

func finite(x float64) float64 {
	if x-x != 0 {
		return 0
	}
	return x
}

var specialFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, math.NaN(), math.Inf(1), math.Inf(-1)}

// A dataset says what random operands are like.
type dataset int

const (
	moderate dataset = iota
	positive         // moderate, but floats are positive, so that sums do not cancel
	special          // with zeros, infinities and NaNs, and integers from all of their range
)

func randomTensor(r *rand.Rand, ty types.Tensor, s dataset) *tensor.Tensor {
	t := tensor.NewOf(ty)
	for i := range t.Len() {
		odd := s == special && r.IntN(12) == 0
		switch d := t.DType; {
		case d.IsFloat() && odd:
			t.SetFloat(i, specialFloats[r.IntN(len(specialFloats))])
		case d.IsFloat() && s == positive:
			t.SetFloat(i, math.Abs(r.NormFloat64()*2))
		case d.IsFloat():
			t.SetFloat(i, r.NormFloat64()*2)
		case d == types.Bool:
			t.SetInt(i, int64(r.IntN(2)))
		case odd:
			lo, hi := d.IntRange()
			t.SetInt(i, []int64{lo, hi, -1}[r.IntN(3)])
		case s == special:
			t.SetInt(i, int64(r.Uint64()))
		default:
			t.SetInt(i, int64(r.IntN(9))-3)
		}
	}
	return t
}
