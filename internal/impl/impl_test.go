package impl_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// machines are those whose schedules are pinned: vector bits and registers.
var machines = []*target.Target{
	{VectorBits: 512, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 512)},
	{VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)},
	{VectorBits: 128, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 128)},
}

// crowded is one whose caches hold little of small kernels.
var crowded = &target.Target{VectorBits: 256, VectorRegs: 16, L1: 2 << 10, L2: 2 << 10, Core: target.ClassOf(target.X86, 256)}

// of is the computation of an operator on operands of the given types.
func of(t testing.TB, d *op.Def, attrs any, result types.Layout, in ...types.Tensor) *te.Stage {
	t.Helper()
	args, stages := make([]op.Arg, len(in)), make([]*te.Stage, len(in))
	for i, x := range in {
		args[i] = op.Arg{Tensor: x.With("")}
		stages[i] = te.Input(fmt.Sprintf("x%d", i), x)
	}
	out, err := d.Infer(attrs, args)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Compute(attrs, stages, out)[0]
	s.Type = out[0].With(result)
	return s
}

func f32(layout types.Layout, shape ...int) types.Tensor {
	return types.Of(types.F32, shape...).With(layout)
}

// relu adds an epilogue.
func relu(s *te.Stage) *te.Stage {
	y := te.Compute("relu", s.Type, func(i []expr.Expr) expr.Expr { return expr.Max(s.At(i...), expr.Const(types.F32, 0)) })
	s.Type.Layout = ""
	return y
}

// silu adds an epilogue that reads the sums twice and takes an exponential of them.
func silu(s *te.Stage) *te.Stage {
	y := te.Compute("silu", s.Type, func(i []expr.Expr) expr.Expr { return expr.Mul(s.At(i...), expr.Call(expr.FnSigmoid, s.At(i...))) })
	s.Type.Layout = ""
	return y
}

// inPanels tells the reductions of s that an operand lies in panels of so many vectors.
func inPanels(panel int, s *te.Stage) *te.Stage {
	for _, r := range te.Order(s) {
		if len(r.Reduce) > 0 {
			r.Panel = panel
		}
	}
	return s
}

func conv(kernel, stride, groups int) ops.ConvAttrs {
	p := kernel / 2
	return ops.ConvAttrs{Strides: []int{stride, stride}, Padding: []int{p, p, p, p}, Dilation: []int{1, 1}, Groups: groups}
}

// TestRules pins the rule, its reason and the schedule that typical kernels get on each machine, those of an algorithm in its folder.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(lanes int) *te.Stage
	}{
		{"conv3x3", func(n int) *te.Stage {
			return relu(of(t, ops.Conv2d, conv(3, 1, 1), blocked(n), f32(blocked(n), 1, 64, 56, 56), f32(weights(n), 64, 64, 3, 3)))
		}},
		{"conv1x1", func(n int) *te.Stage {
			return relu(of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32(blocked(n), 1, 64, 14, 14), f32(weights(n), 128, 64, 1, 1)))
		}},
		{"conv1x1_silu", func(n int) *te.Stage {
			return silu(of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32(blocked(n), 1, 64, 14, 14), f32(weights(n), 128, 64, 1, 1)))
		}},
		{"conv1x1_take", func(n int) *te.Stage {
			table := types.Of(types.U16, 64)
			x := of(t, ops.Take, ops.TakeAttrs{Axis: 1}, blocked(n), f32(blocked(n), 1, 192, 14, 14), table)
			return relu(ops.Conv2d.Compute(conv(1, 1, 1), []*te.Stage{x, te.Input("w", f32(weights(n), 128, 64, 1, 1))}, []types.Tensor{f32(blocked(n), 1, 128, 14, 14)})[0])
		}},
		{"conv_first", func(n int) *te.Stage {
			return of(t, ops.Conv2d, conv(7, 2, 1), blocked(n), f32("", 1, 3, 224, 224), f32(types.Layout(fmt.Sprintf("ABCD%da", n)), 64, 3, 7, 7))
		}},
		{"depthwise", func(n int) *te.Stage {
			return of(t, ops.Conv2d, conv(3, 1, 32), blocked(n), f32(blocked(n), 1, 32, 28, 28), f32(types.Layout(fmt.Sprintf("ABCD%da", n)), 32, 1, 3, 3))
		}},
		{"groups_wide", func(n int) *te.Stage {
			w := f32(types.Layout(fmt.Sprintf("ABCD%db%da", n, 2*n)), 128, 64, 3, 3)
			return relu(inPanels(2, of(t, ops.Conv2d, conv(3, 1, 2), blocked(n), f32(blocked(n), 1, 128, 14, 14), w)))
		}},
		{"groups_narrow", func(n int) *te.Stage {
			w := f32(types.Layout(fmt.Sprintf("ABCD%da", n/2)), 6*n, 3*n/2, 3, 3)
			return relu(of(t, ops.Conv2d, conv(3, 2, 4), blocked(n), f32(blocked(n), 1, 6*n, 28, 28), w))
		}},
		{"groups_plain", func(int) *te.Stage {
			return relu(of(t, ops.Conv2d, conv(3, 1, 7), "", f32("", 1, 35, 28, 28), f32("", 35, 5, 3, 3)))
		}},
		{"strips/strips", func(n int) *te.Stage {
			y := silu(inPanels(3, of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32("", 1, 24, 56, 56), f32(types.Layout(fmt.Sprintf("ABCD%da", 3*n)), 144, 24, 1, 1))))
			y.Tag = lower.Strips
			w := te.Input("w", f32(types.Layout(fmt.Sprintf("ABCD%da", n)), 144, 1, 5, 5))
			return relu(ops.Conv2d.Compute(conv(5, 2, 144), []*te.Stage{y, w}, []types.Tensor{f32(blocked(n), 1, 144, 28, 28)})[0])
		}},
		{"gemv_streamed", func(int) *te.Stage {
			return relu(of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 1, 4096), f32("", 4096, 1000)))
		}},
		{"max_streamed", func(int) *te.Stage {
			return of(t, ops.Max, ops.ReduceAttrs{Axis: []int{1}}, "", f32("", 32, 300, 10, 30))
		}},
		{"matmul", func(int) *te.Stage {
			return of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 128, 256), f32("", 256, 512))
		}},
		{"matmul_packed", func(n int) *te.Stage {
			return inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", 128, 256), f32(types.Layout(fmt.Sprintf("AB%da", 2*n)), 512, 256)))
		}},
		{"matmul_long", func(n int) *te.Stage {
			return inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", 197, 3072), f32(types.Layout(fmt.Sprintf("AB%da", 2*n)), 768, 3072)))
		}},
		{"gemv", func(n int) *te.Stage {
			return inPanels(4, of(t, ops.Dense, op.None{}, "", f32("", 1, 2048), f32(types.Layout(fmt.Sprintf("AB%da", 4*n)), 1024, 2048)))
		}},
		{"gemv_long", func(n int) *te.Stage {
			return inPanels(4, of(t, ops.Dense, op.None{}, "", f32("", 1, 12288), f32(types.Layout(fmt.Sprintf("AB%da", 4*n)), 1024, 12288)))
		}},
		{"gemv_odd", func(n int) *te.Stage {
			return inPanels(1, of(t, ops.Dense, op.None{}, "", f32("", 1, 100), f32(types.Layout(fmt.Sprintf("AB%da", n)), 25*n, 100)))
		}},
		{"gemv_plain", func(int) *te.Stage { return of(t, ops.Dense, op.None{}, "", f32("", 1, 2048), f32("", 1024, 2048)) }},
		{"rows_by_columns", func(int) *te.Stage { return of(t, ops.Dense, op.None{}, "", f32("", 7, 736), f32("", 797, 736)) }},
		{"pad_column", func(int) *te.Stage {
			return of(t, ops.Pad, ops.PadAttrs{PadBefore: []int{3, 0}, PadAfter: []int{1, 0}, Mode: "reflect"}, "", f32("", 5000, 1))
		}},
		{"conv_pixel", func(n int) *te.Stage {
			return inPanels(1, of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32(blocked(n), 1, 32*n, 1, 1), f32(types.Layout(fmt.Sprintf("ABCD%db%da", n, n)), 16*n, 32*n, 1, 1)))
		}},
		{"softmax", func(int) *te.Stage { return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, "", f32("", 128, 197)) }},
		{"softmax_row", func(int) *te.Stage { return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, "", f32("", 1, 1000)) }},
		{"softmax_vector", func(int) *te.Stage { return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 0}, "", f32("", 1000)) }},
		{"softmax_columns", func(int) *te.Stage { return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 0}, "", f32("", 512, 300)) }},
		{"softmax_channels", func(int) *te.Stage { return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, "", f32("", 1, 19, 64, 40)) }},
		{"nbits", func(n int) *te.Stage {
			lanes := types.Layout(fmt.Sprintf("AB%da", 2*n))
			w := types.Of(types.I4, 32*n, 2048).With(types.Layout(fmt.Sprintf("AB%da8b", 2*n)))
			return inPanels(2, of(t, ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: 32}, "", f32("", 256, 2048), w, f32(lanes, 32*n, 64)))
		}},
		{"softmax_blocked", func(n int) *te.Stage {
			return of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, blocked(n), f32(blocked(n), 1, 64, 14, 14))
		}},
		{"layer_norm", func(int) *te.Stage {
			return of(t, ops.LayerNorm, ops.LayerNormAttrs{Axis: 1, Epsilon: 1e-5}, "", f32("", 128, 768), f32("", 768), f32("", 768))
		}},
		{"transpose", func(int) *te.Stage {
			return of(t, ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 1, 3}}, "", f32("", 1, 128, 12, 64))
		}},
		{"transpose_rows", func(int) *te.Stage {
			return of(t, ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 1}}, "", f32("", 3, 197, 40))
		}},
		{"transpose_channels", func(int) *te.Stage {
			return of(t, ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 1}}, "", f32("", 2, 1001, 3))
		}},
		{"attention/attention", func(int) *te.Stage { return attention(12, 197, 64) }},
		{"global_pool", func(n int) *te.Stage {
			return of(t, ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}, KeepDims: true}, blocked(n), f32(blocked(n), 1, 512, 7, 7))
		}},
		{"max_pool", func(n int) *te.Stage {
			return of(t, ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{3, 3}, Strides: []int{2, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}}, blocked(n), f32(blocked(n), 1, 64, 112, 112))
		}},
		{"add", func(n int) *te.Stage {
			return of(t, ops.Add, op.None{}, blocked(n), f32(blocked(n), 1, 64, 56, 56), f32(blocked(n), 1, 64, 56, 56))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			folder, name := path.Split(c.name)
			for _, m := range machines {
				k := lower.Lower(name, c.make(m.Lanes(32)), lower.Options{})
				plan, err := algorithms.Table.Choose(k, m, nil)
				if err != nil {
					t.Fatal(err)
				}
				plan.Divide(m, nil, nil)
				if !slices.IsSortedFunc(plan.Divisions, func(a, b impl.Division) int { return cmp.Compare(a.Cost, b.Cost) }) || len(plan.Divisions) > 0 && plan.Flops > 0 && plan.Divisions[0].Cost <= 0 {
					t.Errorf("divisions are not in the order of their cost: %+v", plan.Divisions)
				}
				if err := loop.Verify(plan.Schedule.Func); err != nil {
					t.Error(err)
				}
				fmt.Fprintf(&b, "// %d bits, %d registers: %s: %s\n%s\n", m.VectorBits, m.VectorRegs, plan.Rule, plan.Why, plan.Schedule)
			}
			golden.File(t, path.Join(folder, "testdata", name+".golden"), []byte(b.String()))
		})
	}
}

// core is a machine without vectors.
var core = &target.Target{VectorRegs: 12, L1: 16 << 10, L2: 16 << 10, Core: target.ClassOf(target.CSource, 0)}

// TestScalar pins the schedules of typical kernels on a machine without vectors, where nothing is packed.
func TestScalar(t *testing.T) {
	pool := ops.PoolAttrs{PoolSize: []int{3, 3}, Strides: []int{2, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}}
	var b strings.Builder
	for _, c := range []struct {
		name string
		out  *te.Stage
	}{
		{"conv3x3", relu(of(t, ops.Conv2d, conv(3, 1, 1), "", f32("", 1, 16, 8, 8), f32("", 24, 16, 3, 3)))},
		{"conv1x1", relu(of(t, ops.Conv2d, conv(1, 1, 1), "", f32("", 1, 16, 8, 8), f32("", 24, 16, 1, 1)))},
		{"conv1x1_odd", of(t, ops.Conv2d, conv(1, 1, 1), "", f32("", 1, 16, 7, 7), f32("", 19, 16, 1, 1))},
		{"conv_one_channel", of(t, ops.Conv2d, conv(3, 1, 1), "", f32("", 1, 16, 8, 8), f32("", 1, 16, 3, 3))},
		{"depthwise", of(t, ops.Conv2d, conv(3, 1, 24), "", f32("", 1, 24, 8, 8), f32("", 24, 1, 3, 3))},
		{"conv_int8", of(t, ops.QnnConv2d, conv(3, 1, 1), "", types.Of(types.U8, 1, 16, 8, 8), types.Of(types.U8), types.Of(types.I8, 24, 16, 3, 3), types.Of(types.I8))},
		{"gemv", of(t, ops.Dense, op.None{}, "", f32("", 1, 64), f32("", 36, 64))},
		{"matmul", of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", 16, 32), f32("", 32, 20))},
		{"max_pool", of(t, ops.MaxPool2d, pool, "", f32("", 1, 16, 8, 8))},
		{"global_pool", of(t, ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}, KeepDims: true}, "", f32("", 1, 24, 7, 7))},
		{"softmax", of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, "", f32("", 1, 10))},
		{"add", of(t, ops.Add, op.None{}, "", f32("", 1, 16, 8, 8), f32("", 1, 16, 8, 8))},
	} {
		k := lower.Lower(c.name, c.out, lower.Options{})
		plan, err := algorithms.Table.Choose(k, core, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := loop.Verify(plan.Schedule.Func); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&b, "// %s: %s: %s\n%s\n", c.name, plan.Rule, plan.Why, plan.Schedule)
	}
	golden.Check(t, "scalar", []byte(b.String()))
}

// attention is exp(s - max(s)) v / sum(exp(s - max(s))) for s = q k, one row of k per key.
func attention(heads, words, width int) *te.Stage {
	t := types.Of(types.F32, heads, words, width)
	q, k, v := te.Input("q", t), te.Input("k", t), te.Input("v", t)
	all, line := types.Of(types.F32, heads, words, words), types.Of(types.F32, heads, words, 1)
	zero := expr.Index(0)
	s := te.Fold("s", all, te.Sum, []int{width}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(q.At(i[0], i[1], r[0]), k.At(i[0], i[2], r[0]))
	})
	most := te.Fold("most", line, te.Max, []int{words}, func(i, r []expr.Expr) expr.Expr { return s.At(i[0], i[1], r[0]) })
	shifted := te.Compute("shifted", all, func(i []expr.Expr) expr.Expr { return expr.Sub(s.At(i...), most.At(i[0], i[1], zero)) })
	w := te.Compute("w", all, func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnExp, shifted.At(i...)) })
	sum := te.Fold("sum", line, te.Sum, []int{words}, func(i, r []expr.Expr) expr.Expr { return w.At(i[0], i[1], r[0]) })
	y := te.Fold("y", t, te.Sum, []int{words}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(w.At(i[0], i[1], r[0]), v.At(i[0], r[0], i[2]))
	})
	return te.Compute("attention", t, func(i []expr.Expr) expr.Expr { return expr.Div(y.At(i...), sum.At(i[0], i[1], zero)) })
}

func blocked(n int) types.Layout { return types.Layout(fmt.Sprintf("ABCD%db", n)) }
func weights(n int) types.Layout { return types.Layout(fmt.Sprintf("ABCD%db%da", n, n)) }

// TestChosen: whatever rule applies, on any machine and however it is divided, the schedule computes what the kernel did,
// for any number of workers.
func TestChosen(t *testing.T) {
	samples := uint64(45)
	if testing.Short() {
		samples = 9
	}
	for _, kind := range tetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			for seed := range samples {
				c := tetest.New(rand.New(rand.NewPCG(seed, 10)), kind)
				k := c.Lower()
				m := append(machines, core)[seed%uint64(len(machines)+1)]
				plan, err := algorithms.Table.Choose(k, m, nil)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, te.String(c.Out))
				}
				if n := uint64(len(plan.Divisions)); n > 0 {
					if err := plan.DivideBy(plan.Divisions[seed/3%n]); err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, plan.Schedule)
					}
				}
				for _, workers := range []int{1, 4} {
					if err := c.Check(k, plan.Schedule.Func, workers); err != nil {
						t.Fatalf("seed %d, %d workers: %v\n%s\n%s\n%s", seed, workers, err, te.String(c.Out), plan.Schedule, plan.Schedule.Func)
					}
				}
			}
		})
	}
}
