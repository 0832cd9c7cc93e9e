package verify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// tiny fills a tensor with numbers around the least normal one of its type, denormals most of all, zeros of both signs among
// them; with mixed every third is an ordinary number.
func tiny(r *rand.Rand, t types.Tensor, mixed bool) *tensor.Tensor {
	x := random(r, t)
	if !t.DType.IsFloat() {
		return x
	}
	least := LeastNormal(t.DType)
	if least == 0 {
		least = 0x1p-14
	}
	for i := range x.Len() {
		v := 0.0
		switch r.IntN(6) {
		case 0:
		case 1:
			v = least
		default:
			v = least * math.Ldexp(r.Float64(), -r.IntN(8))
		}
		if mixed && r.IntN(3) == 0 {
			v = x.Float(i)
		}
		if r.IntN(2) == 0 {
			v = -v
		}
		x.SetFloat(i, v)
	}
	return x
}

// flushed is x with its denormals made zero.
func flushed(x *tensor.Tensor) *tensor.Tensor {
	y := tensor.Over(x.DType, x.Shape, bytes.Clone(x.Bytes()))
	for i := range y.Len() {
		if v := y.Float(i); y.DType.IsFloat() && math.Abs(v) < LeastNormal(y.DType) {
			y.SetFloat(i, math.Copysign(0, v))
		}
	}
	return y
}

// gains are by how much more than one least normal number a result may differ where intermediate values are flushed: how many
// are added, and what they are multiplied by.
var gains = map[string]float64{
	"nn.contrib_conv2d_winograd_input_transform":  225, // the elements of a tile of 8 x 8, with coefficients that add up to 15 in a row
	"nn.contrib_conv2d_winograd_weight_transform": 8,   // the taps of a kernel of 6 x 6, with coefficients that add up to 2.82 in a row
	"nn.layer_norm": 100, // 1 / sqrt(epsilon), and operands less their mean
}

// underflows are operators whose intermediate values are too small even for denormals: cubes of them.
var underflows = map[string]bool{"nn.lp_pool": true}

// near compares elements: the tolerance of the type against the greatest finite one, and slack.
func near(want, got *tensor.Tensor, slack float64) error {
	if _, err := difference(want, got); err != nil {
		return err
	}
	top := 0.0
	for i := range want.Len() {
		if a := math.Abs(want.Float(i)); !math.IsInf(a, 0) && a == a {
			top = max(top, a)
		}
	}
	allowed := tolerance(want.DType)*top + slack
	for i := range want.Len() {
		a, b := want.Float(i), got.Float(i)
		if d := elementDifference(want, got, i); !(d <= allowed) {
			return fmt.Errorf("element %d is %g, want %g (difference %g, allowed %g)", i, b, a, d, allowed)
		}
	}
	return nil
}

// TestDenormals computes every operator on denormal operands. What flushes them computes as if they were zero, and its results
// differ by the least normal number at most; what keeps them has the reference's results.
func TestDenormals(t *testing.T) {
	t.Parallel()
	seeds := uint64(2) // denormals alone, and among other numbers
	if testing.Short() {
		seeds = 1
	}
	for _, mode := range []compile.Denormals{compile.DenormalsFlush, compile.DenormalsKeep} {
		o := compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2, Denormals: mode}
		for _, d := range ops.All {
			if d.Sample == nil || !implemented(d) {
				continue
			}
			t.Run(string(mode)+"/"+d.Name, func(t *testing.T) {
				for seed := range seeds {
					testDenormals(t, d, o, seed, Execute)
				}
			})
		}
	}
}

// TestDeployCrossDenormals is TestDenormals for other architectures, in the modes that they have.
func TestDeployCrossDenormals(t *testing.T) {
	for _, tgt := range []string{"llvm -mtriple=aarch64-linux-gnu", "llvm -mtriple=armv7-linux-gnueabihf", "llvm -mtriple=riscv64-linux-gnu -mattr=+v"} {
		for _, mode := range []compile.Denormals{compile.DenormalsFlush, compile.DenormalsKeep} {
			o := compile.Options{Target: targettest.Resolve(t, tgt), Level: 3, Workers: 2, Denormals: mode}
			if flush, keep := o.Target.ISA().Instructions.Float.Denormals(); mode == compile.DenormalsFlush && !flush || mode == compile.DenormalsKeep && !keep {
				continue
			}
			t.Run(strings.ReplaceAll(tgt, " ", "")+"/"+string(mode), func(t *testing.T) {
				run := emulated(t, o)
				for _, d := range ops.All {
					if d.Sample == nil || !implemented(d) {
						continue
					}
					t.Run(d.Name, func(t *testing.T) {
						for seed := range uint64(2) {
							testDenormals(t, d, o, seed, run)
						}
					})
				}
			})
		}
	}
}

func testDenormals(t *testing.T, d *op.Def, o compile.Options, seed uint64, run execute) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	attrs, in := d.Sample(r)
	var vals, operands []*tensor.Tensor
	for _, ty := range in {
		x := tiny(r, ty, seed%2 == 1)
		vals, operands = append(vals, x), append(operands, x)
		if o.Denormals == compile.DenormalsFlush {
			operands[len(operands)-1] = flushed(x)
		}
	}
	testUse(t, d, attrs, vals, operands, o, seed, run, func(want, got *tensor.Tensor) error {
		slack := LeastNormal(want.DType)
		switch {
		case o.Denormals == compile.DenormalsKeep && underflows[d.Name]:
		case o.Denormals == compile.DenormalsKeep:
			slack *= 0x1p-20 // the operations' own rounding
		case gains[d.Name] > 0:
			slack *= gains[d.Name]
		}
		err := near(want, got, slack)
		if err != nil {
			var first []string
			for _, v := range vals {
				first = append(first, fmt.Sprint(v.Float(0)))
			}
			err = fmt.Errorf("%w (operands begin with %s)", err, strings.Join(first, ", "))
		}
		return err
	})
}

// TestDenormalModes multiplies denormals by 3 on every worker: flush makes zeros of them, keep does not, and the package says
// which it was.
func TestDenormalModes(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	small := float32(1e-40)
	for mode, want := range map[compile.Denormals]float64{compile.DenormalsByTarget: 0, compile.DenormalsFlush: 0, compile.DenormalsKeep: float64(3 * small)} {
		g := &graph.Graph{Name: "main"}
		ty := types.Tensor{DType: types.F32, Shape: []int{n}}
		x := g.Input("x", ty)
		y := apply(t, g, ops.Multiply, op.None{}, x, graph.NewConst("c", tensor.Of([]int{1}, []float32{3})))
		g.Outputs = []*graph.Value{y.Out[0]}
		res, err := compile.Compile(context.Background(), g, compile.Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu"), Level: 3, Workers: 1, Denormals: mode})
		if err != nil {
			t.Fatal(err)
		}
		recorded := res.Contents.Manifest.Options["denormals"]
		if w := map[bool]string{true: "flush", false: "keep"}[want == 0]; recorded != w {
			t.Errorf("%q is recorded as %q, want %q", mode, recorded, w)
		}
		res.Contents.Manifest.MaxWorkers = 0
		in := tensor.NewOf(ty)
		for i := range n {
			in.SetFloat(i, float64(small))
		}
		for workers := 1; workers <= 3; workers++ {
			out, err := Execute(res, []*tensor.Tensor{in}, workers)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if v := out[0].Float(i); v != want {
					t.Fatalf("%q, %d workers: element %d is %g, want %g", mode, workers, i, v, want)
				}
			}
		}
	}
}
