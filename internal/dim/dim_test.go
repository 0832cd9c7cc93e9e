package dim

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	sizes := map[string]int{"a": 7, "b": 3, "past_sequence_length": 12, "batch": 2, "seq": 13, "s0": 9}
	for _, c := range []struct {
		text string
		want int
	}{
		{"past_sequence_length + 1", 13}, {"2*batch", 4}, {"floor(seq/2)", 6}, {"a - 1", 6}, {"a*b", 21}, {"a-b-1", 3}, {"a-(b-1)", 5},
		{"-b + a", 4}, {"2**b", 8}, {"-(1)**2 + 2", 1}, {"2**b**0", 2}, {"floor(seq/2 + 1/2)", 7}, {"ceiling(s0/2)", 5}, {"((s0 - 1)//2) + 1", 5},
		{"Max(1, a, b)", 7}, {"Min(a,b)", 3}, {"Mod(a, 4)", 3}, {"a % 4", 3}, {"0.5*batch", 1}, {"floordiv(a,2)", 3}, {"int(a/2)", 3},
		{"  a  ", 7}, {"abs(b-a)", 4}, {"a*b/b", 7},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if n, err := e.Eval(sizes); err != nil || n != c.want {
			t.Errorf("%q: got %d, %v, want %d", c.text, n, err, c.want)
		}
	}
	for _, text := range []string{"", "a b", "sequence length", "a+", "(a", "a)", "floor(a", "floor(a,b)", "3x", "a + 2d", "unk__12 [x]", "1..2*a", strings.Repeat("(", 1000) + "a", strings.Repeat("a+", 600) + "a"} {
		if e, err := Parse(text); err == nil {
			t.Errorf("%q is read as %s", text, e)
		}
	}
	for _, text := range []string{"a/2", "b-a", "a/(b-3)", "10**16", "a**17", "9999999*9999999*9999999", "nobody"} {
		e, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if n, err := e.Eval(sizes); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestRead(t *testing.T) {
	texts := []string{"batch", "batch-size", "size", "seq-1", "N/A", "sequence length", "?", "", "None", "-1", "3", "Addsome_dim_0", "dim-0", "seq", "1/2", "a*b"}
	got := map[string]string{}
	for text, e := range Read(texts) {
		got[text] = fmt.Sprint(e.op == symbol, " ", e)
	}
	want := map[string]string{
		"batch": "true batch", "size": "true size", "seq": "true seq", "batch-size": "false batch-size", "seq-1": "false seq-1", "N/A": "true N/A",
		"sequence length": "true sequence length", "3": "false 3", "Addsome_dim_0": "true Addsome_dim_0", "dim-0": "true dim-0", "1/2": "true 1/2", "a*b": "false a*b",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func equations(t *testing.T, list ...string) []Equation {
	var all []Equation
	for i, text := range list {
		left, right, _ := strings.Cut(text, " = ")
		e, err := Parse(left)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(right, &n); err != nil {
			t.Fatal(err)
		}
		all = append(all, Equation{e, n, fmt.Sprintf("input %d", i)})
	}
	return all
}

func TestSolve(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want map[string]int
	}{
		{[]string{"batch = 2", "past + 1 = 13"}, map[string]int{"batch": 2, "past": 12}},
		{[]string{"past + seq = 13", "seq = 4"}, map[string]int{"seq": 4, "past": 9}},
		{[]string{"a*b = 12", "b = 3", "a + b + c = 10"}, map[string]int{"a": 4, "b": 3, "c": 3}},
		{[]string{"floor(a/2) = 6"}, map[string]int{}},
		{[]string{"floor(a/2) = 6", "a = 13"}, map[string]int{"a": 13}},
		{[]string{"(a - 1)/2 + b/b = 6", "b = 3"}, map[string]int{"a": 11, "b": 3}},
		{[]string{"a = 0", "a + 1 = 1"}, map[string]int{"a": 0}},
		{[]string{"a - a + b = 3"}, map[string]int{}},
		{[]string{"ceil(2*a + 1) = 7"}, map[string]int{"a": 3}},
	} {
		s, err := Solve(equations(t, c.in...))
		if err != nil || !reflect.DeepEqual(s.Sizes, c.want) {
			t.Errorf("%v: got %v, %v, want %v", c.in, s, err, c.want)
		}
	}
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"a = 2", "a = 3"}, "a is 2 by input 0 and 3 by input 1"},
		{[]string{"a = 2", "a + 1 = 4"}, "a+1 is 4 by input 1 and 3 by a=2 (input 0)"},
		{[]string{"2*a = 5"}, "2*a is 5 by input 0, which no size of a gives"},
		{[]string{"a + 1 = 0"}, "no size of a gives"},
		{[]string{"a = 1", "b = 3", "a - b = 5"}, "below 0"},
		{[]string{"3 = 4"}, "3 is 4 by input 0"},
	} {
		_, err := Solve(equations(t, c.in...))
		if _, ok := errors.AsType[*Contradiction](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.in, err, c.want)
		}
	}
}

// random is an expression over a, b and c.
func random(r *rand.Rand, depth int) *Expr {
	if depth == 0 || r.IntN(4) == 0 {
		if r.IntN(3) == 0 {
			return Size(r.IntN(5))
		}
		return Name(string(rune('a' + r.IntN(3))))
	}
	o := op(2 + r.IntN(int(absolute)-1))
	args := []*Expr{random(r, depth-1)}
	switch o {
	case negate, floor, ceil, absolute:
	case power:
		args = append(args, Size(r.IntN(4)))
	default:
		args = append(args, random(r, depth-1))
	}
	return &Expr{op: o, args: args}
}

// TestRandom compares what is printed and read with the original, and a solution of random equations with the sizes that
// the equations were made from: what is found is right wherever the equation determines it.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	solved := 0
	for range 20000 {
		e := random(r, 4)
		back, err := Parse(e.String())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		sizes := map[string]int{"a": r.IntN(9), "b": r.IntN(9), "c": r.IntN(9)}
		x, err1 := e.value(sizes)
		y, err2 := back.value(sizes)
		if (err1 == nil) != (err2 == nil) || err1 == nil && x.Cmp(y) != 0 {
			t.Fatalf("%s printed as %s: %v %v, %v %v", e, back, x, err1, y, err2)
		}
		n, err := e.Eval(sizes)
		if err != nil {
			continue
		}
		s, err := Solve([]Equation{{e, n, "it"}, {Name("b"), sizes["b"], "b"}, {Name("c"), sizes["c"], "c"}})
		if err != nil {
			t.Fatalf("%s = %d with %v: %v", e, n, sizes, err)
		}
		if a, ok := s.Sizes["a"]; ok && a != sizes["a"] {
			t.Fatalf("%s = %d with %v: a is found to be %d", e, n, sizes, a)
		} else if ok {
			solved++
		}
	}
	if solved < 1000 {
		t.Errorf("%d equations solved", solved)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"past_sequence_length + 1", "floor(seq/2)", "a-b|a|b", "Max(1, s0)", "2**2**2**2", "((", "1/0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		texts := strings.Split(s, "|")
		sizes := map[string]int{}
		var all []Equation
		for text, e := range Read(texts) {
			for _, name := range e.Symbols() {
				sizes[name] = 3
			}
			all = append(all, Equation{e, 3, text})
			if n, err := e.Eval(sizes); err == nil && (n < 0 || n > MaxSize) {
				t.Errorf("%q is %d", text, n)
			}
		}
		if s, err := Solve(all); err == nil {
			for _, q := range all {
				if v, err := q.Expr.value(s.Sizes); err == nil && v.Cmp(new(big.Rat).SetInt64(3)) != 0 {
					t.Errorf("%s is solved to %s", q.Expr, v)
				}
			}
		}
	})
}
