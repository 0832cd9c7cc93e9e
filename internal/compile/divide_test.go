package compile

import (
	"context"
	"fmt"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/te"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestUndivided: a kernel whose loops turn out not to be divisible as planned is one worker's.
func TestUndivided(t *testing.T) {
	tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")
	j := &job{Options: Options{Target: tgt}, ctx: context.Background()}
	x := te.Input("x", types.Of(types.F32, 64, 4096))
	low := lower.Lower("kernel", te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), x.At(i...)) }), lower.Options{})
	for _, spoilt := range []bool{false, true} {
		p, err := algorithms.Table.Choose(low, tgt, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Divide(tgt, nil, nil)
		if f := p.Schedule.Func; spoilt {
			// A serial loop around the divided one holds a statement of its own.
			y := f.Params[len(f.Params)-1]
			zero := make([]expr.Expr, len(y.Shape))
			for i := range zero {
				zero[i] = expr.Index(0)
			}
			alone := &loop.Store{To: y, Index: zero, Value: &expr.Float{Type: types.F32}}
			f.Body = &loop.For{Var: expr.NewVar("again"), Min: expr.Index(0), Extent: expr.Index(2), Body: &loop.Seq{List: []loop.Stmt{f.Body, alone}}}
		}
		f, err := emitted(j, &scheduled{plan: p, dump: &kernelDump{Debug: &j.Debug}})
		if err != nil {
			t.Errorf("spoilt=%v: %v", spoilt, err)
		} else if f.serial != spoilt {
			t.Errorf("spoilt=%v: run by one worker: %v", spoilt, f.serial)
		}
	}
}

// TestDividedApart: the division of one kernel leaves the plan that equal ones share as it was.
func TestDividedApart(t *testing.T) {
	tgt := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")
	x := te.Input("x", types.Of(types.F32, 64, 4096))
	low := lower.Lower("kernel", te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), x.At(i...)) }), lower.Options{})
	p, err := algorithms.Table.Choose(low, tgt, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func() string { return fmt.Sprint(p.Divisions, p.Schedule, p.Schedule.Func) }
	before := text()
	if len(p.Divisions) == 0 {
		t.Fatal("the test wants a kernel that can be divided")
	}
	p.Copy().Divide(tgt, []impl.Operand{{Bytes: 1 << 20, Home: impl.Scattered}}, nil)
	if after := text(); after != before {
		t.Errorf("the plan was\n%s\nand is\n%s", before, after)
	}
}
