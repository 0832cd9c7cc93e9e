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
				err := guard(func() error {
					out, err := u.infer()
					if err != nil {
						rejected++
						return nil
					}
					if !u.small(out) {
						return nil
					}
					vals := u.operands(r, positive)
					if !u.evaluates(out, vals) {
						return nil
					}
					return u.compare(out, vals, 10)
				})
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, u, err)
				}
			}
			if rejected == 0 {
				t.Error("nothing was rejected")
			}
		})
	}
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
