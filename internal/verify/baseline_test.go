package verify

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestBaselineRounding: processors without an instruction for it round as the others do, special values included.
func TestBaselineRounding(t *testing.T) {
	t.Parallel()
	values := []float64{0, math.Copysign(0, -1), 0.3, -0.3, 0.5, -0.5, 0.7, -0.7, 1, 1.5, -1.5, 2.5, -2.5, 8388607.5, -8388607.5, 8388609, 3e9, -1e30,
		math.Inf(1), math.Inf(-1), math.NaN()}
	for _, dtype := range []string{"float32", "float64"} {
		for op, round := range map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.RoundToEven} {
			g, err := graph.Parse("graph main(%x: "+dtype+"[21]) {\n%y = "+op+"(%x)\nreturn %y\n}", ops.Lookup, nil)
			if err != nil {
				t.Fatal(err)
			}
			x := tensor.NewOf(g.Inputs[0].Type)
			for i, v := range values {
				x.SetFloat(i, v)
			}
			got, err := run(t, g, compile.Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64"), Level: 3}, 1, []*tensor.Tensor{x})
			if err != nil {
				t.Errorf("%s of %s: %v", op, dtype, err)
				continue
			}
			for i := range values {
				want := round(x.Float(i))
				if y := got[0].Float(i); math.Float64bits(y) != math.Float64bits(want) && !(math.IsNaN(y) && math.IsNaN(want)) {
					t.Errorf("%s(%v) of %s is %v, want %v", op, x.Float(i), dtype, y, want)
				}
			}
		}
	}
}

// TestDeployBaselineHalf: processors that cannot convert float16 convert as the others do: all of its values to float32, and
// float32 around each of them back.
func TestDeployBaselineHalf(t *testing.T) {
	for _, name := range []string{"llvm -mcpu=x86-64", "llvm -mcpu=core-avx2", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a8", "llvm -mtriple=riscv64-linux-gnu"} {
		t.Run(strings.ReplaceAll(name, " ", ""), func(t *testing.T) {
			o := compile.Options{Target: targettest.Resolve(t, name), Level: 3}
			run := Execute
			if o.Target.Arch == target.X86 {
				o.Target = targettest.Runnable(t, name)
			} else {
				run = emulated(t, o)
			}
			testHalf(t, o, run)
		})
	}
}

func testHalf(t *testing.T, o compile.Options, run execute) {
	cast := func(from, to types.DType, n int, in *tensor.Tensor) *tensor.Tensor {
		g, err := graph.Parse(fmt.Sprintf("graph main(%%x: %s[%d]) {\n%%y = cast(%%x) {dtype=%s}\nreturn %%y\n}", from, n, to), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := compile.Compile(context.Background(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		out, err := run(res, []*tensor.Tensor{in}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	const all = 1 << 16
	h := tensor.New(types.F16, all)
	for i := range all {
		binary.LittleEndian.PutUint16(h.Bytes()[2*i:], uint16(i))
	}
	f := cast(types.F16, types.F32, all, h)
	for i := range all {
		got, want := math.Float32frombits(binary.LittleEndian.Uint32(f.Bytes()[4*i:])), tensor.F16ToF32(uint16(i))
		if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
			t.Fatalf("float16 %#04x is %v, want %v", i, got, want)
		}
	}
	// Each value, its neighbours, the middle to the next one and what is beside it.
	near := []int{0, 1, -1, 0x1000, 0x0fff, 0x1001}
	x := tensor.New(types.F32, all*len(near))
	for i := range all {
		bits := math.Float32bits(tensor.F16ToF32(uint16(i)))
		for j, d := range near {
			binary.LittleEndian.PutUint32(x.Bytes()[4*(i*len(near)+j):], bits+uint32(d))
		}
	}
	y := cast(types.F32, types.F16, x.Len(), x)
	for i := range x.Len() {
		from := math.Float32frombits(binary.LittleEndian.Uint32(x.Bytes()[4*i:]))
		got, want := binary.LittleEndian.Uint16(y.Bytes()[2*i:]), tensor.F32ToF16(from)
		if got != want && (from == from || got&0x7c00 != 0x7c00 || got&0x3ff == 0) {
			t.Fatalf("float32 %v (%#x) is float16 %#04x, want %#04x", from, math.Float32bits(from), got, want)
		}
	}
}
