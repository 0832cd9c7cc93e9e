package arith

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

func TestSimplify(t *testing.T) {
	co, ci, f, w := expr.NewVar("co"), expr.NewVar("ci"), expr.NewVar("f"), expr.NewVar("w")
	r := Ranges{co: Span(4), ci: Span(8), f: Span(49), w: Span(7)}
	n := expr.Index
	c := expr.Add(expr.Mul(co, n(8)), ci)
	div := func(a expr.Expr, b int) expr.Expr { return expr.Bin(expr.OpFloorDiv, a, n(b)) }
	mod := func(a expr.Expr, b int) expr.Expr { return expr.Bin(expr.OpFloorMod, a, n(b)) }
	for _, tc := range []struct {
		e    expr.Expr
		want string
	}{
		{div(c, 8), "co"},
		{mod(c, 8), "ci"},
		{div(c, 16), "floordiv(((co * 8) + ci), 16)"},
		{expr.Add(expr.Mul(div(f, 7), n(56)), expr.Mul(mod(f, 7), n(8))), "(f * 8)"},
		{expr.Sub(c, c), "0"},
		{expr.LT(c, n(32)), "1:bool"},
		{expr.GE(expr.Sub(w, n(1)), n(0)), "((w - 1) >= 0)"},
		{&expr.Select{Cond: expr.GE(expr.Sub(w, n(1)), n(0)), A: expr.Max(expr.Sub(w, n(1)), n(0)), B: n(0)}, "select(((w - 1) >= 0), max((w - 1), 0), 0)"},
		{expr.Min(w, n(6)), "w"},
		{expr.Max(w, n(9)), "9"},
		{div(div(f, 2), 3), "floordiv(f, 6)"},
	} {
		if got := expr.String(r.Simplify(tc.e)); got != tc.want {
			t.Errorf("%s: got %s, want %s", expr.String(tc.e), got, tc.want)
		}
	}
}

// TestUndivided compares conditions on quotients with what becomes of them, at all points around.
func TestUndivided(t *testing.T) {
	x := expr.NewVar("x")
	for _, op := range []expr.Op{expr.OpLT, expr.OpLE, expr.OpGT, expr.OpGE, expr.OpEQ} {
		for _, c := range []int{1, 3, 28} {
			for k := -2; k <= 2; k++ {
				q := expr.Bin(expr.OpFloorDiv, expr.Bin(expr.OpFloorDiv, x, expr.Index(c)), expr.Index(2))
				e := expr.Bin(op, q, expr.Index(k))
				u := Undivided(expr.And(e, e))
				if divided := strings.Contains(expr.String(u), "floordiv"); divided != (op == expr.OpEQ) {
					t.Errorf("%s became %s", expr.String(e), expr.String(u))
				}
				for v := int64(-200); v <= 200; v++ {
					env := map[*expr.Var]int64{x: v}
					if want, got := eval(e, env), eval(u, env); want != got {
						t.Fatalf("%s is %d and %s is %d, x = %d", expr.String(e), want, expr.String(u), got, v)
					}
				}
			}
		}
	}
}

// TestWithoutQuotient: a form without its quotient is at least 0 for the same values.
func TestWithoutQuotient(t *testing.T) {
	x, y := expr.NewVar("x"), expr.NewVar("y")
	r := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		q := expr.Bin(expr.OpFloorDiv, expr.Add(expr.Mul(x, expr.Index(1+r.IntN(9))), expr.Index(r.IntN(20)-10)), expr.Index(2+r.IntN(9)))
		l := LinearOf(expr.Add(expr.Add(expr.Mul(q, expr.Index(2*r.IntN(2)-1)), expr.Mul(y, expr.Index(r.IntN(7)-3))), expr.Index(r.IntN(20)-10)))
		without := l.withoutQuotient()
		if strings.Contains(expr.String(without.Expr()), "floordiv") {
			t.Fatalf("%s became %s", expr.String(l.Expr()), expr.String(without.Expr()))
		}
		for range 50 {
			env := map[*expr.Var]int64{x: r.Int64N(101) - 50, y: r.Int64N(21) - 10}
			if want, got := eval(l.Expr(), env) >= 0, eval(without.Expr(), env) >= 0; want != got {
				t.Fatalf("%s is at least 0: %t; %s: %t, %v", expr.String(l.Expr()), want, expr.String(without.Expr()), got, env)
			}
		}
	}
}

// TestSimplifyKeepsValue compares random index expressions before and after, at random points of their domain.
func TestSimplifyKeepsValue(t *testing.T) {
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		vars := []*expr.Var{expr.NewVar("a"), expr.NewVar("b"), expr.NewVar("c")}
		r := Ranges{}
		for _, v := range vars {
			lo := int64(rnd.IntN(20) - 8)
			r[v] = Interval{lo, lo + int64(rnd.IntN(12))}
		}
		e := randomExpr(rnd, vars, 4)
		s := r.Simplify(e)
		for range 20 {
			env := map[*expr.Var]int64{}
			for _, v := range vars {
				env[v] = r[v].Lo + rnd.Int64N(r[v].Hi-r[v].Lo+1)
			}
			want, got := eval(e, env), eval(s, env)
			if want != got {
				t.Fatalf("seed %d: %s = %d but %s = %d", seed, expr.String(e), want, expr.String(s), got)
			}
			if i := r.Of(e); want < i.Lo || want > i.Hi {
				t.Fatalf("seed %d: %s = %d outside %v", seed, expr.String(e), want, i)
			}
		}
	}
}

func randomExpr(r *rand.Rand, vars []*expr.Var, depth int) expr.Expr {
	if depth == 0 || r.IntN(5) == 0 {
		if r.IntN(3) == 0 {
			return expr.Index(r.IntN(17) - 8)
		}
		return vars[r.IntN(len(vars))]
	}
	sub := func() expr.Expr { return randomExpr(r, vars, depth-1) }
	switch r.IntN(8) {
	case 0, 1:
		return expr.Add(sub(), sub())
	case 2:
		return expr.Sub(sub(), sub())
	case 3:
		return expr.Mul(sub(), expr.Index(r.IntN(9)-2))
	case 4:
		return expr.Bin(expr.OpFloorDiv, sub(), expr.Index(1+r.IntN(8)))
	case 5:
		return expr.Bin(expr.OpFloorMod, sub(), expr.Index(1+r.IntN(8)))
	case 6:
		return &expr.Select{Cond: expr.And(expr.LT(sub(), sub()), expr.GE(sub(), sub())), A: sub(), B: sub()}
	}
	if r.IntN(2) == 0 {
		return expr.Min(sub(), sub())
	}
	return expr.Max(sub(), sub())
}

func eval(e expr.Expr, env map[*expr.Var]int64) int64 {
	switch e := e.(type) {
	case *expr.Int:
		return e.V
	case *expr.Var:
		return env[e]
	case *expr.Select:
		if eval(e.Cond, env) != 0 {
			return eval(e.A, env)
		}
		return eval(e.B, env)
	case *expr.Binary:
		a, b := eval(e.A, env), eval(e.B, env)
		truth := map[bool]int64{true: 1}
		switch e.Op {
		case expr.OpAdd:
			return a + b
		case expr.OpSub:
			return a - b
		case expr.OpMul:
			return a * b
		case expr.OpFloorDiv:
			return FloorDiv(a, b)
		case expr.OpFloorMod:
			return a - FloorDiv(a, b)*b
		case expr.OpMin:
			return min(a, b)
		case expr.OpMax:
			return max(a, b)
		case expr.OpAnd:
			return a & b
		case expr.OpLT:
			return truth[a < b]
		case expr.OpGE:
			return truth[a >= b]
		case expr.OpLE:
			return truth[a <= b]
		case expr.OpGT:
			return truth[a > b]
		case expr.OpEQ:
			return truth[a == b]
		case expr.OpNE:
			return truth[a != b]
		}
	}
	panic("unreachable")
}

// TestCastKeepsRange: what a conversion does not change keeps its bounds, what it may wrap does not.
func TestCastKeepsRange(t *testing.T) {
	x := &expr.Var{Name: "x", Type: types.U16}
	r := Ranges{}
	if got := r.Of(expr.CastTo(types.I64, x)); got != (Interval{0, 1<<16 - 1}) {
		t.Errorf("a uint16 as int64: %v", got)
	}
	if got := r.Of(expr.CastTo(types.I8, x)); got != (Interval{-128, 127}) {
		t.Errorf("a uint16 as int8: %v", got)
	}
	if got := r.Of(expr.CastTo(types.I64, &expr.Var{Name: "y", Type: types.U64})); got != Everything {
		t.Errorf("a uint64 as int64: %v", got)
	}
}

// TestRowsOfFacts: the place of an element in rows that lie behind each other is in range where its row and its column are, however the
// terms of both are mixed; nothing is proven that does not hold.
func TestRowsOfFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	vars := []*expr.Var{expr.NewVar("y"), expr.NewVar("x"), expr.NewVar("r"), expr.NewVar("s")}
	proven := 0
	for range 400 {
		n := expr.Index
		rows, columns := 1+r.IntN(6), 1+r.IntN(6)
		ranges := Ranges{}
		extents := make([]int, len(vars))
		for i, v := range vars {
			extents[i] = 1 + r.IntN(6)
			ranges[v] = Span(extents[i])
		}
		row := expr.Add(expr.Sub(vars[0], vars[2]), n(r.IntN(4)))
		column := expr.Add(expr.Sub(vars[1], vars[3]), n(r.IntN(4)))
		var met expr.Expr
		whole := true
		for _, c := range []expr.Expr{expr.GE(row, n(0)), expr.LT(row, n(rows)), expr.GE(column, n(0)), expr.LT(column, n(columns))} {
			if r.IntN(8) == 0 {
				whole = false
				continue
			}
			met = expr.AllOf(met, c)
		}
		place := expr.Add(expr.Mul(row, n(columns)), column)
		all, reached := true, false
		for i := range extents[0] * extents[1] * extents[2] * extents[3] {
			at := map[*expr.Var]expr.Expr{}
			for j, v := range vars {
				at[v], i = n(i%extents[j]), i/extents[j]
			}
			value := func(e expr.Expr) int64 {
				v, ok := expr.IntOf(ranges.Simplify(expr.Subst(e, at)))
				if !ok {
					t.Fatalf("%s is no number", expr.String(e))
				}
				return v
			}
			if met != nil && value(met) == 0 {
				continue
			}
			reached = true
			if p := value(place); p < 0 || p >= int64(rows*columns) {
				all = false
			}
		}
		known := (Facts)(nil).And(met)
		switch ok := known.InRange(ranges.Simplify(place), rows*columns, ranges); {
		case ok && !all:
			t.Fatalf("%s is not in range of %d by %d where %s", expr.String(place), rows, columns, expr.String(met))
		case ok:
			proven++
		case whole && reached:
			t.Errorf("%s is not proven to be in range of %d by %d where %s", expr.String(place), rows, columns, expr.String(met))
		}
	}
	if proven < 200 {
		t.Errorf("%d proven", proven)
	}
}

// TestFactsAboutData: a multiple of what is known of data is not, for it may wrap; and however many facts there are, a proof ends.
func TestFactsAboutData(t *testing.T) {
	n := expr.Index
	d := expr.NewVar("d") // of any value
	known := (Facts)(nil).And(expr.AllOf(expr.GE(d, n(0)), expr.LE(d, n(100))))
	if place := expr.Mul(d, n(8)); known.InRange(place, 1000, Ranges{}) {
		t.Errorf("%s is proven to be in range", expr.String(place))
	}
	if e := expr.GE(expr.Mul(d, n(8)), n(0)); expr.String(Ranges{}.SimplifyUnder(e, known)) == "1:bool" {
		t.Errorf("%s is proven", expr.String(e))
	}
	var met, place expr.Expr
	ranges := Ranges{}
	for range 60 {
		v := expr.NewVar("v")
		ranges[v] = Span(10)
		met = expr.AllOf(met, expr.GE(expr.Sub(v, n(3)), n(0)))
		if place == nil {
			place = expr.Sub(v, n(5))
		} else {
			place = expr.Add(place, expr.Mul(v, n(2)))
		}
	}
	if (Facts)(nil).And(met).InRange(expr.Sub(place, n(1000)), 1<<20, ranges) {
		t.Error("proven what does not hold")
	}
}
