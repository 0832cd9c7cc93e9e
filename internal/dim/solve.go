package dim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// none are the texts that exporters write for a size without a name: two of them are not the same size.
var none = []string{"", "?", "*", "-1", "None", "none", "unknown"}

// Read says what the texts of declared shapes mean; texts that mean nothing, for which the size is merely open, are left
// out. What is not an expression is a name. So is "batch-size", unless batch and size stand by themselves elsewhere.
func Read(texts []string) map[string]*Expr {
	read := map[string]*Expr{}
	plain := map[string]bool{}
	var doubtful []string
	for _, text := range texts {
		if slices.Contains(none, text) || read[text] != nil {
			continue
		}
		e, maybeName, err := parse(text)
		switch {
		case err != nil:
			e = Name(text)
		case maybeName:
			doubtful = append(doubtful, text)
			continue
		case len(e.Symbols()) == 0:
			if _, err := e.Eval(nil); err != nil {
				continue
			}
		}
		read[text] = e
		for _, name := range e.Symbols() {
			plain[name] = true
		}
	}
	for _, text := range doubtful {
		e, _, _ := parse(text)
		if names := e.Symbols(); len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !plain[n] }) {
			e = Name(text)
		}
		read[text] = e
	}
	return read
}

// An Equation says that an expression has a size, and where that is said, in the words of a message.
type Equation struct {
	Expr  *Expr
	Size  int
	Where string
}

// A Solution holds the sizes of symbols, and where each is said.
type Solution struct {
	Sizes map[string]int
	Where map[string]string
}

// A Contradiction is two statements that cannot both be true.
type Contradiction struct{ Text string }

func (c *Contradiction) Error() string { return c.Text }

// Solve finds the sizes of symbols. An equation with one unknown in it gives that unknown's size where it is linear in it;
// others wait, and what nothing gives is missing in the solution. Equations that become known are checked, also those with
// numbers only. The work grows with the equations' length.
func Solve(equations []Equation) (*Solution, error) {
	s := &Solution{Sizes: map[string]int{}, Where: map[string]string{}}
	unknown := make([][]string, len(equations))
	users := map[string][]int{}
	queue := make([]int, 0, len(equations))
	for i, q := range equations {
		unknown[i] = q.Expr.Symbols()
		for _, name := range unknown[i] {
			users[name] = append(users[name], i)
		}
		if len(unknown[i]) < 2 {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		q := equations[i]
		left := slices.DeleteFunc(slices.Clone(unknown[i]), func(n string) bool { _, ok := s.Sizes[n]; return ok })
		if len(left) == 0 {
			if err := s.check(q); err != nil {
				return nil, err
			}
			continue
		}
		n, linear, err := q.solve(left[0], s.Sizes)
		if err != nil {
			return nil, &Contradiction{fmt.Sprintf("%s is %d by %s, which %s", q.Expr, q.Size, q.Where, err)}
		}
		if !linear {
			continue
		}
		s.Sizes[left[0]], s.Where[left[0]] = n, q.Where
		for _, j := range users[left[0]] {
			if j == i {
				continue
			}
			rest := 0
			for _, name := range unknown[j] {
				if _, ok := s.Sizes[name]; !ok {
					rest++
				}
			}
			if rest < 2 {
				queue = append(queue, j)
			}
		}
	}
	return s, nil
}

// check reports an equation that the solution contradicts.
func (s *Solution) check(q Equation) error {
	n, err := q.Expr.Eval(s.Sizes)
	if err == nil && n == q.Size {
		return nil
	}
	if name, ok := q.Expr.IsName(); ok {
		return &Contradiction{fmt.Sprintf("%s is %d by %s and %d by %s, and equal names are equal sizes", name, n, s.Where[name], q.Size, q.Where)}
	}
	var why []string
	for _, name := range q.Expr.Symbols() {
		why = append(why, fmt.Sprintf("%s=%d (%s)", name, s.Sizes[name], s.Where[name]))
	}
	if err != nil {
		return &Contradiction{fmt.Sprintf("%s is %d by %s, and with %s %v", q.Expr, q.Size, q.Where, strings.Join(why, ", "), err)}
	}
	return &Contradiction{fmt.Sprintf("%s is %d by %s and %d by %s", q.Expr, q.Size, q.Where, n, strings.Join(why, ", "))}
}

// solve finds the size of the one symbol without a size.
func (q Equation) solve(name string, sizes map[string]int) (n int, linear bool, err error) {
	factor, rest, ok := q.Expr.line(name, sizes)
	if !ok || factor.Sign() == 0 {
		return 0, false, nil
	}
	x := new(big.Rat).SetInt64(int64(q.Size))
	x.Quo(x.Sub(x, rest), factor)
	if !x.IsInt() || x.Sign() < 0 || x.Num().Cmp(big.NewInt(MaxSize)) > 0 {
		return 0, true, fmt.Errorf("no size of %s gives", name)
	}
	return int(x.Num().Int64()), true, nil
}

// line writes e as factor · name + rest, if it is of that form.
func (e *Expr) line(name string, sizes map[string]int) (factor, rest *big.Rat, ok bool) {
	zero := new(big.Rat)
	if e.op == symbol && e.name == name {
		return big.NewRat(1, 1), zero, true
	}
	if !slices.Contains(e.Symbols(), name) {
		v, err := e.value(sizes)
		return zero, v, err == nil
	}
	factors, rests := make([]*big.Rat, len(e.args)), make([]*big.Rat, len(e.args))
	for i, a := range e.args {
		if factors[i], rests[i], ok = a.line(name, sizes); !ok {
			return nil, nil, false
		}
	}
	var errs [2]error
	switch e.op {
	case add, sub, negate:
		factor, errs[0] = apply(e.op, factors)
		rest, errs[1] = apply(e.op, rests)
	case mul:
		k := slices.IndexFunc(factors, func(f *big.Rat) bool { return f.Sign() == 0 })
		if k < 0 {
			return nil, nil, false
		}
		factor, errs[0] = apply(mul, []*big.Rat{factors[1-k], rests[k]})
		rest, errs[1] = apply(mul, rests)
	case div:
		if factors[1].Sign() != 0 {
			return nil, nil, false
		}
		factor, errs[0] = apply(div, []*big.Rat{factors[0], rests[1]})
		rest, errs[1] = apply(div, rests)
	case floor, ceil:
		// A whole multiple of a whole number needs no rounding.
		if !factors[0].IsInt() || !rests[0].IsInt() {
			return nil, nil, false
		}
		factor, rest = factors[0], rests[0]
	default:
		return nil, nil, false
	}
	return factor, rest, errs[0] == nil && errs[1] == nil
}
