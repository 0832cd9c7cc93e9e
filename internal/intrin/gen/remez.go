package main

import (
	"fmt"
	"math"
	"math/big"

	"lathe/internal/intrin/precise"
)

// A fit is a rational minimax approximation P(x)/Q(x) of a function on [lo, hi] with Q(0) = 1: the weighted error
// |P/Q - f|/|w| is as small as it can be.
type fit struct {
	lo, hi float64
	p, q   int // degrees; q = 0: a polynomial
	f      func(x precise.Real) precise.Real
	w      func(x precise.Real) precise.Real // nil: f, so that the relative error is what counts
}

// solve runs Remez' exchange algorithm. It returns the coefficients, lowest power first, and the weighted error.
func (r fit) solve() (p, q []precise.Real, err float64) {
	weight := r.w
	if weight == nil {
		weight = r.f
	}
	n := r.p + r.q + 2
	x := make([]precise.Real, n)
	for i := range x {
		c := math.Cos(math.Pi * (float64(n-1-i) + 0.5) / float64(n))
		x[i] = precise.Num((r.lo+r.hi)/2 + (r.hi-r.lo)/2*c)
	}
	grid := r.grid(weight, n)
	q = []precise.Real{precise.Num(1)}
	for round := 0; ; round++ {
		p, q = level(x, r.p, r.q, r.f, weight, q)
		errs := make([]float64, len(grid))
		for i, g := range grid {
			errs[i] = g.error(p, q)
		}
		peaks := extrema(errs, n)
		if len(peaks) < n {
			panic(fmt.Sprintf("remez: %d extrema of %d", len(peaks), n))
		}
		least, most := math.Inf(1), 0.0
		for i, k := range peaks {
			x[i] = grid[k].x
			least, most = min(least, math.Abs(errs[k])), max(most, math.Abs(errs[k]))
		}
		if most < 1.0005*least || round > 60 {
			return p, q, most
		}
	}
}

// A sample is a point of the grid on which errors are looked at.
type sample struct{ x, f, w precise.Real }

func (s sample) error(p, q []precise.Real) float64 {
	e, _ := precise.Div(precise.Sub(precise.Div(horner(p, s.x), horner(q, s.x)), s.f), s.w).Float64()
	return e
}

func (r fit) grid(weight func(precise.Real) precise.Real, n int) []sample {
	grid := make([]sample, 60*n+1)
	for i := range grid {
		// Denser at the ends, where the extrema are.
		t := (1 - math.Cos(math.Pi*float64(i)/float64(len(grid)-1))) / 2
		x := precise.Num(r.lo + (r.hi-r.lo)*t)
		grid[i] = sample{x, r.f(x), precise.Abs(weight(x))}
	}
	return grid
}

func horner(c []precise.Real, x precise.Real) precise.Real {
	s := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		s = precise.Add(precise.Mul(s, x), c[i])
	}
	return s
}

// level finds P and Q whose weighted error at the points x alternates between +E and -E:
// P(x) - f(x) (Q(x) - 1) - (±E) w(x) Qold(x) = f(x), linear in the unknowns once Q is taken from the round before in the
// term with E.
func level(x []precise.Real, np, nq int, f, w func(precise.Real) precise.Real, old []precise.Real) (p, q []precise.Real) {
	n := len(x)
	m := make([][]precise.Real, n)
	for i, xi := range x {
		row := make([]precise.Real, n+1)
		fx, power := f(xi), precise.Num(1)
		for j := 0; j <= max(np, nq); j++ {
			if j <= np {
				row[j] = power
			}
			if j >= 1 && j <= nq {
				row[np+j] = precise.Neg(precise.Mul(fx, power))
			}
			power = precise.Mul(power, xi)
		}
		e := precise.Mul(precise.Abs(w(xi)), horner(old, xi))
		if i%2 == 1 {
			e = precise.Neg(e)
		}
		row[n-1] = e
		row[n] = fx
		m[i] = row
	}
	s := gauss(m)
	return s[:np+1], append([]precise.Real{precise.Num(1)}, s[np+1:np+1+nq]...)
}

// gauss solves the linear system whose last column is the right side.
func gauss(m [][]precise.Real) []precise.Real {
	n := len(m)
	for c := range n {
		best := c
		for r := c + 1; r < n; r++ {
			if precise.Abs(m[r][c]).Cmp(precise.Abs(m[best][c])) > 0 {
				best = r
			}
		}
		m[c], m[best] = m[best], m[c]
		for r := c + 1; r < n; r++ {
			k := precise.Div(m[r][c], m[c][c])
			for j := c; j <= n; j++ {
				m[r][j] = precise.Sub(m[r][j], precise.Mul(k, m[c][j]))
			}
		}
	}
	s := make([]*big.Float, n)
	for r := n - 1; r >= 0; r-- {
		v := m[r][n]
		for j := r + 1; j < n; j++ {
			v = precise.Sub(v, precise.Mul(m[r][j], s[j]))
		}
		s[r] = precise.Div(v, m[r][r])
	}
	return s
}

// extrema picks n points where the error alternates in sign, the largest of each run.
func extrema(errs []float64, n int) []int {
	var peaks []int
	for i, e := range errs {
		switch last := len(peaks) - 1; {
		case last < 0 || (e < 0) != (errs[peaks[last]] < 0):
			peaks = append(peaks, i)
		case math.Abs(e) > math.Abs(errs[peaks[last]]):
			peaks[last] = i
		}
	}
	for len(peaks) > n {
		if math.Abs(errs[peaks[0]]) < math.Abs(errs[peaks[len(peaks)-1]]) {
			peaks = peaks[1:]
		} else {
			peaks = peaks[:len(peaks)-1]
		}
	}
	return peaks
}
