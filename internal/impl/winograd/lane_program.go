package winograd

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// A laneProgram is straight-line code on vectors: values that live in registers, one element a lane. It becomes the body
// of one vector loop.
type laneProgram struct {
	lane  *expr.Var
	lanes int
	dtype types.DType // of all values
	list  []loop.Stmt
	regs  []*loop.Buffer
}

func newLaneProgram(t types.DType, lanes int) *laneProgram {
	return &laneProgram{lane: expr.NewVar("lane"), lanes: lanes, dtype: t}
}

// keep computes e once, into a register.
func (p *laneProgram) keep(e expr.Expr) expr.Expr {
	b := build.Register(fmt.Sprintf("t%d", len(p.regs)), p.dtype, p.lanes)
	p.regs = append(p.regs, b)
	p.list = append(p.list, build.Set(b, e, p.lane))
	return build.Get(b, p.lane)
}

// add adds c times x to a kept value; the product is not rounded, as in any reduction.
func (p *laneProgram) add(to expr.Expr, c float64, x expr.Expr) {
	b := to.(*expr.Load).From.(*loop.Buffer)
	switch c {
	case 0:
	case 1:
		p.list = append(p.list, build.Set(b, expr.Add(to, x), p.lane))
	case -1:
		p.list = append(p.list, build.Set(b, expr.Sub(to, x), p.lane))
	default:
		p.list = append(p.list, build.Set(b, expr.Add(to, expr.Mul(x, expr.Const(p.dtype, c))), p.lane))
	}
}

// store writes e to memory.
func (p *laneProgram) store(b *loop.Buffer, e expr.Expr, index ...expr.Expr) {
	p.list = append(p.list, build.Set(b, e, index...))
}

// when runs what body adds only where cond holds, which is the same for all lanes.
func (p *laneProgram) when(cond expr.Expr, body func()) {
	if cond == nil {
		body()
		return
	}
	outer := p.list
	p.list = nil
	body()
	p.list = append(outer, build.When(cond, p.list...))
}

// loop is the finished program.
func (p *laneProgram) loop() loop.Stmt {
	body := &loop.For{Var: p.lane, Min: expr.Index(0), Extent: expr.Index(p.lanes), Kind: loop.Vector, Body: build.Do(p.list...)}
	return build.With(body, p.regs...)
}

// multiply is the product of a constant matrix by a vector of values. What two columns or two rows have in common is
// computed once.
func (p *laneProgram) multiply(m [][]float64, x []expr.Expr) []expr.Expr {
	m, x = p.foldColumns(m, x)
	y := make([]expr.Expr, len(m))
	for i := 0; i < len(m); i++ {
		if i+1 < len(m) {
			if even, odd := parts(m[i], m[i+1]); even != nil {
				y[i], y[i+1] = p.sumAndDifference(even, odd, x)
				i++
				continue
			}
		}
		y[i] = p.scaled(p.dot(m[i], x))
	}
	return y
}

// foldColumns replaces neighbouring values that every row takes with equal or opposite coefficients by their sum and
// their difference.
func (p *laneProgram) foldColumns(m [][]float64, x []expr.Expr) ([][]float64, []expr.Expr) {
	m, x = slices.Clone(m), slices.Clone(x)
	for j := 0; j+1 < len(x); j++ {
		a, b := column(m, j), column(m, j+1)
		even, odd := parts(a, b)
		if even == nil {
			continue
		}
		sum, difference := p.keep(x[j]), p.keep(x[j])
		p.add(sum, 1, x[j+1])
		p.add(difference, -1, x[j+1])
		x[j], x[j+1] = sum, difference
		for i := range m {
			m[i] = slices.Clone(m[i])
			m[i][j], m[i][j+1] = even[i], odd[i]
		}
		j++
	}
	return m, x
}

func column(m [][]float64, j int) []float64 {
	v := make([]float64, len(m))
	for i := range m {
		v[i] = m[i][j]
	}
	return v
}

// dot is the sum of the products of coefficients and values, divided by the last coefficient that is not 0, which is
// returned: that value needs no product then. The sum is nil when all coefficients are 0.
func (p *laneProgram) dot(row []float64, x []expr.Expr) (sum expr.Expr, scale float64) {
	for i, c := range slices.Backward(row) {
		switch {
		case c == 0:
		case sum == nil:
			sum, scale = p.keep(x[i]), c
		default:
			p.add(sum, c/scale, x[i])
		}
	}
	return sum, scale
}

// scaled is scale times a value.
func (p *laneProgram) scaled(v expr.Expr, scale float64) expr.Expr {
	switch {
	case v == nil:
		return expr.Const(p.dtype, 0)
	case scale == 1:
		return v
	}
	return p.keep(expr.Mul(v, expr.Const(p.dtype, scale)))
}

// sumAndDifference is even·x + odd·x and even·x - odd·x.
func (p *laneProgram) sumAndDifference(even, odd []float64, x []expr.Expr) (sum, difference expr.Expr) {
	e := p.scaled(p.dot(even, x))
	o, scale := p.dot(odd, x)
	sum, difference = p.keep(e), p.keep(e)
	p.add(sum, scale, o)
	p.add(difference, -scale, o)
	return sum, difference
}

// parts splits a and b into even and odd so that a = even + odd and b = even - odd without arithmetic on the elements;
// nil when they differ in more than signs, or when one part is 0.
func parts(a, b []float64) (even, odd []float64) {
	even, odd = make([]float64, len(a)), make([]float64, len(a))
	for i := range a {
		switch {
		case a[i] == b[i]:
			even[i] = a[i]
		case a[i] == -b[i]:
			odd[i] = a[i]
		default:
			return nil, nil
		}
	}
	some := func(v []float64) bool { return slices.ContainsFunc(v, func(c float64) bool { return c != 0 }) }
	if !some(even) || !some(odd) {
		return nil, nil
	}
	return even, odd
}
