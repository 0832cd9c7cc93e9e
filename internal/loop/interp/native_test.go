package interp_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/codegen/llvm"
	"lathe/internal/expr"
	"lathe/internal/intrin"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
	"lathe/internal/toolchain"
	"lathe/internal/types"
)

// elements is the length of the tested tensors: all pairs of 16 values, and as many random ones.
const elements = 512

// A trial is one expression of x and y, stored as z, in a loop of one kind.
type trial struct {
	f    *loop.Func
	args []*tensor.Tensor
}

// TestNativeAgrees compares generated code with the interpreter on every operator, function and cast of every type, one
// element at a time and in vectors: bit by bit, but for the payload of NaN, the sign of a zero from min and max, and what greater gives for NaN.
func TestNativeAgrees(t *testing.T) {
	trials := allTrials()
	run := natives(t, trials)
	for i, k := range trials {
		want := k.args[2]
		got := tensor.New(want.DType, elements)
		run[i]([]*tensor.Tensor{k.args[0], k.args[1], got})
		if err := interp.Run(k.f, k.args, 1); err != nil {
			t.Errorf("%s: %v", k.f.Name, err)
			continue
		}
		compareTrial(t, k, got, want)
	}
}

// compareTrial compares the result of generated code with the interpreter's.
func compareTrial(t *testing.T, k trial, got, want *tensor.Tensor) {
	t.Helper()
	for j := range elements {
		if strings.HasPrefix(k.f.Name, "greater_") && (isNaN(k.args[0], j) || isNaN(k.args[1], j)) {
			continue
		}
		if minmax := strings.HasPrefix(k.f.Name, "min_") || strings.HasPrefix(k.f.Name, "max_") || strings.HasPrefix(k.f.Name, "greater_"); !same(got, want, j) && !(minmax && got.Float(j) == 0 && want.Float(j) == 0) {
			t.Errorf("%s: of %s and %s: the code gives %s, the interpreter %s", k.f.Name, show(k.args[0], j), show(k.args[1], j), show(got, j), show(want, j))
			return
		}
	}
}

// allTrials are one trial for every operator, function and cast of every type.
func allTrials() []trial {
	var trials []trial
	for _, d := range types.DTypes() {
		c := d.Compute()
		x, y := values(d, 0), values(d, 1)
		if c == d {
			for _, o := range expr.Ops() {
				if o.Takes(c) {
					trials = append(trials, both(fmt.Sprintf("%s_%s", opName(o), d), x, y, func(x, y expr.Expr) expr.Expr { return expr.Bin(o, x, y) })...)
				}
			}
			for _, f := range expr.Fns() {
				if f.Takes(c) {
					trials = append(trials, both(fmt.Sprintf("%s_%s", f, d), x, y, func(x, y expr.Expr) expr.Expr { return expr.Call(f, x) })...)
				}
			}
			for _, to := range types.DTypes() {
				if to.Size() == c.Size() && to != types.Bool && c != types.Bool && to == to.Compute() {
					trials = append(trials, both(fmt.Sprintf("bits_%s_%s", d, to), x, y, func(x, y expr.Expr) expr.Expr { return &expr.Bits{To: to, A: x} })...)
				}
			}
		}
		if d == types.F32 {
			for _, to := range []types.DType{types.I8, types.U8, types.I16, types.U16} {
				for _, zero := range []float64{0, 3, -128} {
					trials = append(trials, both(fmt.Sprintf("round_%s_%d", to, int(128+zero)), x, y, func(x, y expr.Expr) expr.Expr {
						return expr.CastTo(to, expr.Add(expr.Call(expr.FnRound, expr.Mul(x, expr.Const(d, 0.5))), expr.Const(d, zero)))
					})...)
					trials = append(trials, both(fmt.Sprintf("step_%s_%d", to, int(128+zero)), x, y, func(x, y expr.Expr) expr.Expr {
						step := expr.CastTo(to, expr.Add(expr.Call(expr.FnRound, expr.Mul(x, expr.Const(d, 0.5))), expr.Const(d, zero)))
						return expr.CastTo(types.F32, expr.Sub(expr.CastTo(types.I32, step), expr.Const(types.I32, zero)))
					})...)
				}
			}
		}
		for _, to := range types.DTypes() {
			trials = append(trials, both(fmt.Sprintf("cast_%s_%s", d, to), x, y, func(x, y expr.Expr) expr.Expr {
				if to.Compute() != to {
					return &expr.Cast{To: types.F32, A: &expr.Cast{To: to, A: x}}
				}
				return &expr.Cast{To: to, A: x}
			})...)
		}
	}
	return trials
}

// both makes the scalar and the vector form of a trial. Functions are expanded as code generation does.
func both(name string, x, y *tensor.Tensor, e func(x, y expr.Expr) expr.Expr) []trial {
	var out []trial
	for _, lanes := range []int{0, 16} {
		px := &loop.Buffer{Name: "x", DType: x.DType, Shape: []int{elements}}
		py := &loop.Buffer{Name: "y", DType: y.DType, Shape: []int{elements}}
		i := expr.NewVar("i")
		var at expr.Expr = i
		l := expr.NewVar("l")
		if lanes > 0 {
			at = expr.Add(expr.Mul(i, expr.Index(lanes)), l)
		}
		value := intrin.Expand(e(&expr.Load{From: px, Index: []expr.Expr{at}}, &expr.Load{From: py, Index: []expr.Expr{at}}), false)
		pz := &loop.Buffer{Name: "z", DType: value.DType(), Shape: []int{elements}}
		var body loop.Stmt = &loop.Store{To: pz, Index: []expr.Expr{at}, Value: value}
		n := elements
		suffix := "_scalar"
		if lanes > 0 {
			body = &loop.For{Var: l, Min: expr.Index(0), Extent: expr.Index(lanes), Kind: loop.Vector, Body: body}
			n /= lanes
			suffix = "_vector"
		}
		f := &loop.Func{Name: name + suffix, Params: []*loop.Buffer{px, py, pz}, Body: &loop.For{Var: i, Min: expr.Index(0), Extent: expr.Index(n), Body: body}}
		out = append(out, trial{f, []*tensor.Tensor{x, y, tensor.New(pz.DType, elements)}})
	}
	return out
}

// opName is a name for symbols.
func opName(o expr.Op) string {
	if o.Named() {
		return o.String()
	}
	return fmt.Sprintf("op%d", o)
}

// natives compiles the trials for this machine and links them to one library.
func natives(t *testing.T, trials []trial) []func(args []*tensor.Tensor) {
	here, err := toolchain.Native()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := toolchain.Open(toolchain.For(here))
	if err != nil {
		t.Fatal(err)
	}
	texts, names := make([]string, len(trials)), make([]string, len(trials))
	for i, k := range trials {
		if err := loop.Verify(k.f, loop.NoBlocks); err != nil {
			t.Fatal(err)
		}
		names[i] = k.f.Name
		kernel, err := llvm.Emit(k.f, llvm.Options{Symbol: k.f.Name, VectorBits: 512})
		if err != nil {
			t.Fatalf("%s: %v", k.f.Name, err)
		}
		texts[i] = strings.Replace(kernel.Text, "define hidden", "define", 1)
	}
	objects, errs := make([]toolchain.Object, len(texts)), make([]error, len(texts))
	var group sync.WaitGroup
	for first := range runtime.NumCPU() {
		group.Go(func() {
			for i := first; i < len(texts); i += runtime.NumCPU() {
				objects[i], errs[i] = machine.Compile(texts[i], "")
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	library, err := toolchain.Link(objects, toolchain.LinkOptions{Exports: names})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trials.so")
	if err := os.WriteFile(file, library, 0o777); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { purego.Dlclose(handle) })
	run := make([]func(args []*tensor.Tensor), len(trials))
	for i, name := range names {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			t.Fatal(err)
		}
		run[i] = func(args []*tensor.Tensor) {
			// void kernel(ptr param..., ptr scratch, i64 worker, i64 workers)
			var words []uintptr
			for _, a := range args {
				words = append(words, uintptr(unsafe.Pointer(&a.Bytes()[0])))
			}
			purego.SyscallN(symbol, append(words, 0, 0, 1)...)
			runtime.KeepAlive(args)
		}
	}
	return run
}

// values are the pairs' first or second halves: 16 by 16 chosen ones, then random bits and small numbers.
func values(d types.DType, half int) *tensor.Tensor {
	t := tensor.New(d, elements)
	chosen := chosenInts(d)
	r := rand.New(rand.NewSource(int64(half)))
	for i := range elements {
		k := i % 16
		if half == 1 {
			k = i / 16 % 16
		}
		switch {
		case d == types.Bool:
			t.SetInt(i, int64(r.Intn(2)))
		case i >= 256 && i%2 == 0:
			for b := range d.Size() {
				t.Bytes()[i*d.Size()+b] = byte(r.Intn(256))
			}
		case i >= 256 && d.IsFloat():
			t.SetFloat(i, r.NormFloat64()*3)
		case i >= 256:
			t.SetInt(i, int64(r.Intn(50)-25))
		case d.IsFloat():
			t.SetFloat(i, chosenFloats[k])
		default:
			t.SetInt(i, chosen[k])
		}
	}
	return t
}

var chosenFloats = [16]float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3.5, 1e-40, -1e-310, 1e10, -3e38, 2147483648, 9.3e18, math.Inf(1), math.Inf(-1), math.NaN()}

func chosenInts(d types.DType) []int64 {
	if d.IsFloat() {
		return nil
	}
	lo, hi := d.IntRange()
	w := int64(d.Bits())
	return []int64{0, 1, -1, 2, -2, 3, 7, -7, lo, lo + 1, hi, hi - 1, w, w - 1, 100, hi / 3}
}

func isNaN(a *tensor.Tensor, i int) bool { return a.Float(i) != a.Float(i) }

func same(a, b *tensor.Tensor, i int) bool {
	n := a.DType.Size()
	if a.DType.IsFloat() && math.IsNaN(a.Float(i)) && math.IsNaN(b.Float(i)) {
		return true
	}
	return string(a.Bytes()[i*n:(i+1)*n]) == string(b.Bytes()[i*n:(i+1)*n])
}

func show(t *tensor.Tensor, i int) string {
	if t.DType.IsFloat() {
		return fmt.Sprintf("%g", t.Float(i))
	}
	return fmt.Sprint(t.Int(i))
}
