package ops

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Winograd holds the matrices of the minimal filtering algorithm F(m, 3) of Lavin and Gray: m outputs of a correlation
// with 3 taps g from the m+2 inputs d by m+2 products, y = Aᵀ((G g) ⊙ (Bᵀ d)). Applied to rows and columns it computes
// m×m outputs of a 3×3 correlation by (m+2)² products. The matrices are those of Cook and Toom's evaluation of
// polynomials at the points 0, ±p, ±q and infinity.
type Winograd struct {
	Tile  int         // m: outputs along an axis
	Alpha int         // m+2: inputs along an axis
	G     [][]float64 // Alpha × 3, of the weights
	BT    [][]float64 // Alpha × Alpha, of the data
	AT    [][]float64 // Tile × Alpha, of the products
}

// winogradTaps is the size of the kernels along an axis.
const winogradTaps = 3

// winogradPoints are the finite points by tile size. Pairs ±p share their even and odd parts, and p, q near 1 keep the
// elements of the matrices, and with them rounding errors, small: for 4 outputs half the error of 1 and 2. The points for 6
// are powers of two, which round least of those that were tried.
var winogradPoints = map[int][]float64{
	2: {0, 1, -1},
	4: {0, math.Sqrt2 / 2, -math.Sqrt2 / 2, math.Sqrt2, -math.Sqrt2},
	6: {0, 1, -1, 0.5, -0.5, 2, -2},
}

// WinogradOf gives the matrices for a tile size, 2, 4 or 6.
func WinogradOf(tile int) (*Winograd, error) {
	points, ok := winogradPoints[tile]
	if !ok {
		return nil, fmt.Errorf("tile size %d; it must be 2, 4 or 6", tile)
	}
	w := &Winograd{Tile: tile, Alpha: tile + winogradTaps - 1}
	for j, p := range points {
		others, scale := []float64{1}, 1.0 // product of x-q over the other points q, and its value at p
		for k, q := range points {
			if k != j {
				others, scale = timesRoot(others, q), scale*(p-q)
			}
		}
		w.BT = append(w.BT, append(others, 0))
		w.G = append(w.G, powers(p, winogradTaps, 1/scale))
	}
	all := []float64{1}
	for _, q := range points {
		all = timesRoot(all, q)
	}
	w.BT = append(w.BT, all)
	w.G = append(w.G, atInfinity(winogradTaps))
	for i := range tile {
		row := make([]float64, w.Alpha)
		for j, p := range points {
			row[j] = powers(p, tile, 1)[i]
		}
		row[w.Alpha-1] = atInfinity(tile)[i]
		w.AT = append(w.AT, row)
	}
	return w, nil
}

// timesRoot multiplies a polynomial, lowest coefficient first, by x - q.
func timesRoot(poly []float64, q float64) []float64 {
	r := make([]float64, len(poly)+1)
	for i, c := range poly {
		r[i+1] += c
		r[i] -= q * c
	}
	for i, c := range r {
		r[i] = tidy(c)
	}
	return r
}

// tidy rounds a coefficient to the multiple of 1/4 that it is but for rounding: points of square roots of 2 in pairs give
// whole and half coefficients.
func tidy(c float64) float64 {
	if r := math.Round(4*c) / 4; math.Abs(r-c) < 1e-9 {
		return r + 0 // never -0
	}
	return c
}

// powers is scale times 1, p, p², ...
func powers(p float64, n int, scale float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = tidy(scale)
		scale *= p
	}
	return v
}

// atInfinity is the value of a polynomial of n coefficients at infinity: the leading one.
func atInfinity(n int) []float64 {
	v := make([]float64, n)
	v[n-1] = 1
	return v
}

// Tiles is the number of tiles that cover an output of n elements along an axis.
func (w *Winograd) Tiles(n int) int { return (n + w.Tile - 1) / w.Tile }

// Products is the number of products of a tile.
func (w *Winograd) Products() int { return w.Alpha * w.Alpha }

// Exact reports whether all elements of Bᵀ, Aᵀ and twice G are integers, so that integers are transformed without rounding: for the
// points 0, 1 and -1. Weights of integers are transformed by 2G along both axes, and what Aᵀ gives of the products is four times the
// result: in int32, which wraps, its lowest bits are right however large the parts of the sum are, and it is divided by a shift.
func (w *Winograd) Exact() bool { return w.Tile == 2 }

// winogradShift is log2 of the factor by which outputs of integers are too large before they are shifted.
const winogradShift = 2

// entry is element [i, j] of a matrix, at variable indices, as a tensor expression of type t.
func entry(t types.DType, m [][]float64, i, j expr.Expr) expr.Expr {
	cols := len(m[0])
	at := expr.Add(scaled(cols, i, 0), j)
	var e expr.Expr = expr.Const(t, 0)
	for r, row := range m {
		for c, v := range row {
			if v != 0 {
				e = expr.If(expr.EQ(at, expr.Index(r*cols+c)), expr.Const(t, v), e)
			}
		}
	}
	return e
}

// sandwich is m x mᵀ for a square matrix x, row by row.
func sandwich(m [][]float64, x []float64) []float64 {
	n := len(m[0])
	half := make([]float64, len(m)*n)
	for i, row := range m {
		for k, v := range row {
			for j := range n {
				half[i*n+j] += v * x[k*n+j]
			}
		}
	}
	y := make([]float64, len(m)*len(m))
	for i := range m {
		for j, row := range m {
			for k, v := range row {
				y[i*len(m)+j] += half[i*n+k] * v
			}
		}
	}
	return y
}
