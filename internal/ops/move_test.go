package ops

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/te/teinterp"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestMovementIsExact compares Compute with Eval bit for bit: operators that move elements or work on integers round nothing.
func TestMovementIsExact(t *testing.T) {
	for _, d := range slices.Concat(moveOps, indexOps, qnnOps) {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(200) {
				r := rand.New(rand.NewPCG(seed, 7))
				a, in := d.Sample(r)
				args := make([]op.Arg, len(in))
				stages := make([]*te.Stage, len(in))
				vals := make([]*tensor.Tensor, len(in))
				bound := map[*te.Stage]*tensor.Tensor{}
				for i, ty := range in {
					args[i] = op.Arg{Tensor: ty}
					stages[i] = te.Input("x", ty)
					vals[i] = noise(r, ty)
					bound[stages[i]] = vals[i]
				}
				ts, err := d.Infer(a, args)
				if err != nil {
					t.Fatalf("seed %d: %+v of %v: %v", seed, a, in, err)
				}
				var want []*tensor.Tensor
				for _, ty := range ts {
					want = append(want, tensor.NewOf(ty))
				}
				if err := d.Eval(a, vals, want); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if d.Compute == nil {
					continue
				}
				outs := d.Compute(a, stages, ts)
				got, err := teinterp.Run(outs, bound)
				if err != nil {
					t.Fatalf("seed %d: %+v of %v: %v\n%s", seed, a, in, err, te.String(outs...))
				}
				for k := range want {
					if !bytes.Equal(got[k].Data, want[k].Data) {
						t.Fatalf("seed %d: %+v of %v: result %d differs\n%s", seed, a, in, k, te.String(outs...))
					}
				}
			}
		})
	}
}

func noise(r *rand.Rand, ty types.Tensor) *tensor.Tensor {
	v := tensor.NewOf(ty)
	for i := range v.Len() {
		switch {
		case ty.DType == types.Bool:
			v.SetInt(i, int64(r.IntN(2)))
		case ty.DType.IsFloat():
			v.SetFloat(i, r.NormFloat64()*5)
		case ty.DType.Size() > 2 && r.IntN(4) > 0:
			v.SetInt(i, int64(r.IntN(20)-8))
		default:
			v.SetInt(i, int64(r.Uint64()))
		}
	}
	return v
}
