package compile

import (
	"testing"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/te"
	"lathe/internal/types"
)

// TestUndivided: a kernel whose loops turn out not to be divisible as planned is one worker's.
func TestUndivided(t *testing.T) {
	tgt := resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")
	c := &compiler{Options: Options{Target: tgt}}
	x := te.Input("x", types.Of(types.F32, 64, 4096))
	low := lower.Lower("kernel", te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), x.At(i...)) }), lower.Options{})
	for _, spoilt := range []bool{false, true} {
		k := &kernel{low: low, dump: &kernelDump{Debug: &c.Debug}}
		if err := k.schedule(tgt, nil, nil); err != nil {
			t.Fatal(err)
		}
		k.plan.Divide(tgt, nil)
		if f := k.plan.Schedule.Func; spoilt {
			// A serial loop around the divided one holds a statement of its own.
			y := f.Params[len(f.Params)-1]
			zero := make([]expr.Expr, len(y.Shape))
			for i := range zero {
				zero[i] = expr.Index(0)
			}
			alone := &loop.Store{To: y, Index: zero, Value: &expr.Float{Type: types.F32}}
			f.Body = &loop.For{Var: expr.NewVar("again"), Min: expr.Index(0), Extent: expr.Index(2), Body: &loop.Seq{List: []loop.Stmt{f.Body, alone}}}
		}
		if err := c.build(k); err != nil {
			t.Errorf("spoilt=%v: %v", spoilt, err)
		} else if k.serial != spoilt {
			t.Errorf("spoilt=%v: run by one worker: %v", spoilt, k.serial)
		}
	}
}
