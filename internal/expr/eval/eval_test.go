package eval

import (
	"math"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

var vars = map[string]*expr.Var{"x": {Name: "x", Type: types.F32}, "d": {Name: "d", Type: types.F64}, "i": expr.NewVar("i")}

// value parses and computes an expression; x is 1.5, d is 0.1 and i is -7.
func value(t *testing.T, text string, contract bool) (uint64, types.DType) {
	t.Helper()
	e, err := expr.Parse(text, vars, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Compiler{Contract: contract}
	slots := make([]uint64, 100)
	slots[c.Slot(vars["x"])] = OfFloat(types.F32, 1.5)
	slots[c.Slot(vars["d"])] = OfFloat(types.F64, 0.1)
	slots[c.Slot(vars["i"])] = ^uint64(6)
	code, err := c.Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	return code(slots), e.DType()
}

func TestIntegers(t *testing.T) {
	for text, want := range map[string]int64{
		"(i + 3)": -4, "(i * i)": 49, "(i / 2)": -3, "(i % 2)": -1, "floordiv(i, 2)": -4, "floormod(i, 2)": 1, "floormod(7, -2)": -1,
		"floordiv(7, -2)": -4, "(i / 0)": 0, "(i % 0)": 0, "floordiv(i, 0)": 0, "floormod(i, 0)": 0,
		"(-9223372036854775808 / -1)": math.MinInt64, "(-9223372036854775808 % -1)": 0, "abs(-9223372036854775808)": math.MinInt64,
		"(127:int8 + 1:int8)": -128, "(200:uint8 + 100:uint8)": 44, "(-128:int8 / -1:int8)": -128, "neg(1:uint8)": 255, "(0:uint8 - 1:uint8)": 255,
		"(1 << 63)": math.MinInt64, "(1 << 64)": 0, "(1 << -1)": 0, "(-1 >> 64)": 0, "(-8 >> 1)": -4, "(1:int8 << 7:int8)": -128,
		"(255:uint8 >> 1:uint8)": 127, "(-1:uint64 >> 63:uint64)": 1, "(-1:uint64 / 2:uint64)": math.MaxInt64, "(-1:uint64 < 1:uint64)": 0,
		"min(-1:uint64, 1:uint64)": 1, "max(i, 3)": 3, "(5 & 6)": 4, "(5 ^ 6)": 3, "not(0:uint8)": 255, "not(1:bool)": 0,
		"popcnt(-1:int16)": 16, "clz(1:int8)": 7, "clz(0:uint32)": 32, "clz(-1)": 0, "popcnt(255:uint8)": 8,
		"int8(300)": 44, "uint8(-1)": 255, "bool(2)": 1, "int64(1:bool)": 1, "uint64(-1)": -1,
		"int32(3e9)": math.MaxInt32, "int32(-3e9)": math.MinInt32, "int32(nan)": 0, "uint8(-3.5)": 0, "uint8(255.9)": 255, "int8(-1.9)": -1,
		"int64(inf)": math.MaxInt64, "uint64(1e20)": -1, "uint64(-1.0)": 0, "bool(nan)": 1, "bool(-0.0)": 0,
		"bits.int32(1.0)": 0x3f800000, "bits.uint32(-1.0)": 0xbf800000, "bits.int32(-0.0)": math.MinInt32, "bits.int64(1.0:float64)": 0x3ff0000000000000,
		"bits.uint16(float16(1.0))": 0x3c00, "bits.int16(bfloat16(1.0))": 0x3f80, "bits.int8(255:uint8)": -1,
		"select((i < 0), 1, 2)": 1, "let(a:int64 = (i + 1); (a * a))": 36,
		"((1 == 2) & (1 == 1))": 0, "((1 != 2) | (1 == 3))": 1, "((1 == 1) ^ (2 == 2))": 0,
		"(nan == nan)": 0, "(nan != nan)": 1, "(nan < 1.0)": 0, "(nan >= 1.0)": 0, "isnan(nan)": 1, "isinf(-inf)": 1, "isinf(x)": 0, "isnan(d)": 0,
	} {
		if got, d := value(t, text, false); int64(got) != want {
			t.Errorf("%s of type %s = %d, want %d", text, d, int64(got), want)
		}
	}
}

func TestFloats(t *testing.T) {
	for text, want := range map[string]float64{
		"(x + 0.1)": float64(float32(1.5) + float32(0.1)), "(d + 0.2:float64)": math.Float64frombits(0x3fd3333333333334), "(x - 1.0)": 0.5, "(x / 0.0)": math.Inf(1),
		"(16777216.0 + 1.0)": 16777216, "(0.1 * 0.1)": float64(float32(0.1) * float32(0.1)),
		"(-7.5 % 2.0)": -1.5, "floormod(-7.5, 2.0)": 0.5, "floormod(7.5, -2.0)": -0.5, "min(nan, 1.0)": math.NaN(), "max(1.0, nan)": math.NaN(), "min(1.0, 2.0)": 1,
		"pow(2.0, 0.5)": float64(float32(math.Sqrt2)), "atan2(1.0, 0.0)": float64(float32(math.Pi / 2)),
		"atan2(-5e-324:float64, -7.0:float64)": -math.Pi,
		"sqrt(2.0)":                            float64(float32(math.Sqrt2)), "rsqrt(4.0)": 0.5, "round(2.5)": 2, "round(-3.5)": -4, "floor(-0.5)": -1, "ceil(0.5)": 1, "trunc(-1.5)": -1, "neg(x)": -1.5, "abs(-2.0)": 2,
		"exp(1.0:float64)": math.E, "log(5e-324:float64)": -744.4400719213812, "tanh(20.0)": 1, "erf(0.0)": 0,
		"float32(16777217)": 16777216, "float64(-1:uint64)": 1 << 64, "float32(0.1:float64)": float64(float32(0.1)), "float32(float16(2049.0))": 2048, "float32(bfloat16(257.0))": 256,
		"float32(float16(1e9))": math.Inf(1), "bits.float32(1065353216:int32)": 1, "float32(bits.float16(15360:int16))": 1, "float32(bits.bfloat16(16256:uint16))": 1,
		"float64(1:bool)": 1, "select(1:bool, 2.0, 3.0)": 2,
	} {
		got, d := value(t, text, false)
		if v := Float(d, got); v != want && (v == v || want == want) {
			t.Errorf("%s of type %s = %v, want %v", text, d, v, want)
		}
	}
}

// TestContract has sums whose results differ when the product is not rounded.
func TestContract(t *testing.T) {
	const e = 0x1p-13
	for text, want := range map[string][2]float64{
		"((1.0001220703125 * 1.0001220703125) - 1.000244140625)": {0, e * e}, "((1.0001220703125 * 1.0001220703125) + -1.000244140625)": {0, e * e},
		"(1.000244140625 - (1.0001220703125 * 1.0001220703125))": {0, -e * e}, "(-1.000244140625 + (1.0001220703125 * 1.0001220703125))": {0, e * e},
		"(let(p:float32 = (1.0001220703125 * 1.0001220703125); p) - 1.000244140625)": {0, 0},
	} {
		for i, contract := range []bool{false, true} {
			if got, d := value(t, text, contract); Float(d, got) != want[i] {
				t.Errorf("%s, contract %v: %v, want %v", text, contract, Float(d, got), want[i])
			}
		}
	}
}

type source struct{}

func (source) Label() string     { return "s" }
func (source) Elem() types.DType { return types.F16 }

func TestErrors(t *testing.T) {
	i, one := expr.NewVar("i"), expr.Const(types.F32, 1)
	for _, c := range []struct {
		e    expr.Expr
		want string
	}{
		{nil, "no expression"}, {i, "variable i has no value"}, {&expr.Binary{Op: expr.OpAdd, A: one, B: expr.Index(1)}, "+ of float32 and int64"},
		{&expr.Load{From: source{}}, "load from s"}, {&expr.Let{Var: i, Value: one, Body: i}, "let i: int64 has a value of type float32"},
	} {
		if _, err := new(Compiler).Compile(c.e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestSelectGuards checks that the operand not chosen is not evaluated.
func TestSelectGuards(t *testing.T) {
	c := &Compiler{Load: func(*expr.Load, []Code) (Code, error) { return func([]uint64) uint64 { panic("evaluated") }, nil }}
	load := &expr.Load{From: source{}}
	no, yes := &expr.Int{V: 0, Type: types.Bool}, &expr.Int{V: 1, Type: types.Bool}
	bad := expr.Bin(expr.OpEQ, load, load)
	for _, e := range []expr.Expr{expr.If(no, load, expr.Const(types.F32, 2)), expr.If(yes, expr.Const(types.F32, 2), load), expr.And(no, bad), expr.Or(yes, bad)} {
		code, err := c.Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		code(nil)
	}
}
