package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestMalformedUses damages valid uses: operands are dropped, added, reshaped or get another type, attributes change.
// Infer must not panic, and what it accepts must evaluate without a panic and the same both ways. Odd attributes cancel
// digits, hence the slack.
func TestMalformedUses(t *testing.T) {
	for _, d := range All {
		t.Run(d.Name, func(t *testing.T) {
			rejected := 0
			for seed := range uint64(300) {
				r := rand.New(rand.NewPCG(seed, 2))
				a, in := d.Sample(r)
				u := damage(r, use{d, a, slices.Clone(in)})
				accepted, err := u.behaves(r)
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, u, err)
				}
				if !accepted {
					rejected++
				}
			}
			if rejected == 0 {
				t.Error("nothing was rejected")
			}
		})
	}
}

// TestNoElements: uses whose operands have an axis of no elements are refused, or evaluate without a panic and the same both ways.
func TestNoElements(t *testing.T) {
	for _, d := range All {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(120) {
				r := rand.New(rand.NewPCG(seed, 4))
				a, in := d.Sample(r)
				u := use{d, a, empty(r, in)}
				if _, err := u.behaves(r); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, u, err)
				}
			}
		})
	}
}

// behaves evaluates u, if Infer accepts it, Eval has a meaning for its values and it takes a moment: without a panic, and the same both ways.
func (u use) behaves(r *rand.Rand) (accepted bool, err error) {
	err = guard(func() error {
		out, err := u.infer()
		if err != nil {
			return nil
		}
		accepted = true
		if !u.small(out) {
			return nil
		}
		vals := u.operands(r, positive)
		if !u.evaluates(out, vals) {
			return nil
		}
		return u.compare(out, vals, 10)
	})
	return accepted, err
}

// empty are operands where a size of one of them, drawn, is 0 wherever it occurs, or only there. The others are large at times: lines are
// walked in parts.
func empty(r *rand.Rand, in []types.Tensor) []types.Tensor {
	var sizes []int
	for _, t := range in {
		sizes = append(sizes, t.Shape...)
	}
	if len(sizes) == 0 {
		return in
	}
	at, everywhere := r.IntN(len(sizes)), r.IntN(2) == 0
	size, n, by := sizes[at], 0, []int{1, 1, 1, 17}[r.IntN(4)]
	out := slices.Clone(in)
	for i, t := range in {
		shape := slices.Clone(t.Shape)
		for k := range shape {
			if n == at || everywhere && shape[k] == size {
				shape[k] = 0
			}
			shape[k] *= by
			n++
		}
		out[i].Shape = shape
	}
	return out
}

// evaluates reports whether Eval accepts the values: some uses have a meaning only for some.
func (u use) evaluates(out []types.Tensor, vals []*tensor.Tensor) bool {
	results := make([]*tensor.Tensor, len(out))
	for i, t := range out {
		results[i] = tensor.NewOf(t)
	}
	return u.def.Eval(u.attrs, vals, results) == nil
}

func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// small reports whether u can be evaluated in a moment.
func (u use) small(out []types.Tensor) bool {
	for _, t := range slices.Concat(u.in, out) {
		if t.Elements() > 5000 {
			return false
		}
	}
	if u.def.Compute == nil {
		return true
	}
	outs, _ := u.stages(out)
	for _, s := range te.Order(outs...) {
		work := s.Type.Elements()
		for _, r := range s.Reduce {
			if r.Extent > 5000 {
				return false
			}
			work *= r.Extent
			if work > 50000 {
				return false
			}
		}
	}
	return true
}

func damage(r *rand.Rand, u use) use {
	for range 1 + r.IntN(2) {
		i := r.IntN(len(u.in))
		switch r.IntN(6) {
		case 0:
			u.in = slices.Delete(slices.Clone(u.in), i, i+1)
			if len(u.in) == 0 {
				return u
			}
		case 1:
			u.in = append(u.in, u.in[i])
		case 2:
			u.in[i].DType = types.DTypes()[r.IntN(len(types.DTypes()))]
		case 3:
			u.in[i].Shape = damageInts(r, u.in[i].Shape, 0, 1, 2, 3, 7)
		default:
			v := reflect.New(reflect.TypeOf(u.attrs)).Elem()
			v.Set(reflect.ValueOf(u.attrs))
			damageAttrs(r, v)
			u.attrs = v.Interface()
		}
	}
	return u
}

// damageInts changes, inserts or removes an element.
func damageInts(r *rand.Rand, v []int, values ...int) []int {
	v = slices.Clone(v)
	x := values[r.IntN(len(values))]
	switch i := r.IntN(len(v) + 1); {
	case i == len(v) || r.IntN(3) == 0:
		return slices.Insert(v, i, x)
	case r.IntN(2) == 0:
		return slices.Delete(v, i, i+1)
	default:
		v[i] = x
		return v
	}
}

var oddInts = []int{-1, 0, 1, 2, 3, -7, 100, 1 << 21, 1 << 40, math.MaxInt, math.MinInt}

// damageAttrs changes one field of an attribute struct.
func damageAttrs(r *rand.Rand, v reflect.Value) {
	if v.NumField() == 0 {
		return
	}
	f := v.Field(r.IntN(v.NumField()))
	switch x := f.Interface().(type) {
	case int:
		f.SetInt(int64(oddInts[r.IntN(len(oddInts))]))
	case []int:
		f.Set(reflect.ValueOf(damageInts(r, x, oddInts...)))
	case float64:
		f.SetFloat([]float64{0, -1, 0.5, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(7)])
	case []float64:
		f.Set(reflect.ValueOf(append(slices.Clone(x), []float64{0, -1, math.NaN(), 1e30}[r.IntN(4)])))
	case bool:
		f.SetBool(!x)
	case string:
		f.SetString("odd")
	case types.DType:
		f.Set(reflect.ValueOf(types.DType(r.IntN(20))))
	case types.Layout:
		f.Set(reflect.ValueOf([]types.Layout{"", "ABCD", "BA", "AB16b", "9z"}[r.IntN(5)]))
	default:
		panic(fmt.Sprintf("attribute of type %T", x))
	}
}
