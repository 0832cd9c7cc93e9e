package expr

import (
	"math"
	"strings"
	"testing"

	"lathe/internal/types"
)

// array is a source of int64 elements.
type array string

// octets is a source of int8 elements.
type octets string

func (o octets) Label() string     { return string(o) }
func (o octets) Elem() types.DType { return types.I8 }

func (a array) Label() string     { return string(a) }
func (a array) Elem() types.DType { return types.I64 }

var scope = map[string]*Var{
	"i": NewVar("i"), "x": {"x", types.F32}, "d": {"d", types.F64}, "b": {"b", types.Bool}, "u": {"u", types.U8}, "i.o": NewVar("i.o"),
}

// operand returns a variable of some type that takes allows.
func operand(takes func(types.DType) bool) *Var {
	for _, n := range []string{"x", "i", "b"} {
		if takes(scope[n].Type) {
			return scope[n]
		}
	}
	panic("no type fits")
}

func TestParsePrinted(t *testing.T) {
	x, d, b, i, u := scope["x"], scope["d"], scope["b"], scope["i"], scope["u"]
	s := NewVar("s")
	all := []Expr{
		x, scope["i.o"], Index(-5), &Int{math.MinInt64, types.I64}, &Int{-1, types.U64}, &Int{255, types.U8}, &Int{1, types.Bool},
		&Float{1, types.F32}, &Float{-0.1, types.F64}, &Float{float64(float32(1e30)), types.F32}, &Float{5e-324, types.F64}, &Float{math.Copysign(0, -1), types.F32},
		&Float{math.Inf(1), types.F32}, &Float{math.Inf(-1), types.F64}, &Float{math.NaN(), types.F32}, &Float{math.NaN(), types.F64},
		&Float{math.Pi, types.F64}, &Float{float64(float32(math.Pi)), types.F32},
		&Select{b, x, x}, &Select{b, u, &Int{3, types.U8}}, &Load{array("a"), nil}, &Load{array("a"), []Expr{i, &Load{array("a"), []Expr{i}}}},
		&Let{s, i, Add(s, s)}, &Bits{types.I32, x}, &Dot{&Load{octets("o"), []Expr{i, i}}, &Load{octets("o"), []Expr{Index(0)}}, 1, 0}, &Bits{types.F64, i}, &Cast{types.F32, &Cast{types.F16, x}},
	}
	for _, o := range Ops() {
		v := operand(o.Takes)
		all = append(all, Bin(o, v, v))
	}
	for _, f := range Fns() {
		all = append(all, Call(f, operand(f.Takes)))
	}
	for _, to := range types.DTypes() {
		all = append(all, &Cast{to, d})
	}
	for _, e := range all {
		text := String(e)
		got, err := Parse(text, scope, map[string]Source{"a": array("a"), "o": octets("o")})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if String(got) != text || got.DType() != e.DType() {
			t.Errorf("%s of type %s came back as %s of type %s", text, e.DType(), String(got), got.DType())
		}
		if f, ok := e.(*Float); ok && math.Float64bits(f.V) != math.Float64bits(got.(*Float).V) {
			t.Errorf("%s: other bits", text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: end of text where a name is expected"},
		{"y", `1:1: no variable "y"`},
		{"a[0]", `no tensor or buffer "a"`},
		{"x x", `1:3: "x" after the expression`},
		{"(x + i)", "+ of float32 and int64"},
		{"(x & x)", "& of float32"},
		{"(x = x)", `"=" is no operator`},
		{"(x + x", `end of text where ")"`},
		{"(x\n +\n  (i * x))", "3:3: * of int64 and float32"},
		{"floor(i)", "floor of int64"},
		{"select(x, x, x)", "select by a condition of type float32"},
		{"select(b, x, i)", "select of float32 and int64"},
		{"select(b, x)", "select of 2 operands, not 3"},
		{"bits.int64(x)", "bits of float32 as int64"},
		{"bits.what(x)", "unknown element type"},
		{"float16(x, x)", "float16 of 2 operands, not 1"},
		{"(float16(x) + float16(x))", "+ of float16"},
		{"let(s:int64 = x; s)", "let s: int64 has a value of type float32"},
		{"let(x:int64 = i; x)", `"x" is defined already`},
		{"(let(s:int64 = i; s) + s)", `no variable "s"`},
		{"let(nan:int64 = i; i)", `"nan" is a constant`},
		{"1:float32", "integer constant of type float32"},
		{"1.5:int32", "float constant of type int32"},
		{"1.0:float16", "float constant of type float16"},
		{"300:uint8", "300 does not fit uint8"},
		{"99999999999999999999", "is no int64"},
		{"1e400:float64", "is no float64"},
		{"-x", `"x" where a number is expected`},
		{strings.Repeat("floor(", 3000), "nested deeper"},
	} {
		_, err := Parse(c.text, scope, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want %q", c.text, err, c.want)
		}
	}
}

func TestIsName(t *testing.T) {
	for s, want := range map[string]bool{"x": true, "_a1": true, "i.o.i": true, "": false, "1x": false, "a b": false, "x.": false,
		"x..y": false, "nan": false, "a-b": false, "x ": false, "é": false} {
		if IsName(s) != want {
			t.Errorf("IsName(%q) = %v", s, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("let(s:float32 = (x * -1.5e+10); select((i.o < a[i]), s, sqrt(s)))")
	f.Fuzz(func(t *testing.T, text string) {
		sources := map[string]Source{"a": array("a")}
		e, err := Parse(text, scope, sources)
		if err != nil {
			return
		}
		once := String(e)
		again, err := Parse(once, scope, sources)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice := String(again); twice != once {
			t.Fatalf("first %s then %s", once, twice)
		}
	})
}
