package ops

import (
	"errors"
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Winograd is how a convolution of two axes is computed by minimal filtering: rows and columns of the kernel apart, by the products of
// the factors along both.
type Winograd struct{ Axes [2]WinogradAxis }

// A WinogradAxis holds the matrices of the minimal filtering algorithm F(m, r) of Lavin and Gray: m outputs of a correlation with r taps g
// from the m+r-1 inputs d by as many products, y = Aᵀ((G g) ⊙ (Bᵀ d)). The matrices are those of Cook and Toom's evaluation of
// polynomials at the points 0, ±p, ±q ... and infinity. Outputs of a tile, and inputs, are Dilation apart. A correlation with a stride is the
// sum of ones without over phases: output o of kernel w is
//
//	y[o] = sum over p and j of x[s*(o+j) + p] * w[s*j + p]
type WinogradAxis struct {
	Tile     int // m: outputs
	Taps     int // r: of a phase, the last of which some lack
	Dilation int
	Stride   int         // s
	Phases   int         // values of p for which there are taps
	Full     int         // of these, the first ones, whose last tap is one of the kernel: that of the others is 0, and so is their last product
	Alpha    int         // m+r-1: inputs, and products
	G        [][]float64 // Alpha × Taps, of the weights
	BT       [][]float64 // Alpha × Alpha, of the data
	AT       [][]float64 // Tile × Alpha, of the products
}

// winogradPoints are the finite points by the number of products. Pairs ±p share their even and odd parts, and p, q near 1 keep the
// elements of the matrices, and with them rounding errors, small: for 6 products half the error of 1 and 2. The points for 8
// are powers of two, which round least of those that were tried. One product is that of a kernel of one tap.
var winogradPoints = map[int][]float64{
	1: {},
	4: {0, 1, -1},
	6: {0, math.Sqrt2 / 2, -math.Sqrt2 / 2, math.Sqrt2, -math.Sqrt2},
	8: {0, 1, -1, 0.5, -0.5, 2, -2},
}

// WinogradOf gives the matrices for tiles of so many outputs along the axes along which a phase of the kernel has more than one tap: along each,
// tile and taps must make 4, 6 or 8 products, and strides or dilation must be 1.
func WinogradOf(tile int, kernel, strides, dilation []int) (*Winograd, error) {
	if err := errors.Join(wantEach("kernel size", kernel, 2, 1, maxStep), wantEach("strides", strides, 2, 1, maxStep), wantEach("dilation", dilation, 2, 1, maxStep)); err != nil {
		return nil, err
	}
	w, most := &Winograd{}, 0
	for i, size := range kernel {
		taps, m := (size+strides[i]-1)/strides[i], tile
		if taps == 1 {
			m = 1
		}
		points, ok := winogradPoints[m+taps-1]
		if !ok || m < 1 || taps > mostTaps {
			return nil, fmt.Errorf("tile size %d for a kernel of %v with strides %v; with the taps along an axis it must make 4, 6 or 8 products", tile, kernel, strides)
		}
		if strides[i] > 1 && dilation[i] > 1 {
			return nil, fmt.Errorf("strides %v and dilation %v; along an axis, one must be 1", strides, dilation)
		}
		most = max(most, taps)
		x := newWinogradAxis(m, taps, points)
		x.Dilation, x.Stride, x.Phases, x.Full = dilation[i], strides[i], min(size, strides[i]), size-strides[i]*(taps-1)
		w.Axes[i] = x
	}
	if most == 1 {
		return nil, fmt.Errorf("kernel size %v, strides %v; along an axis there must be several taps", kernel, strides)
	}
	return w, nil
}

func newWinogradAxis(tile, taps int, points []float64) WinogradAxis {
	w := WinogradAxis{Tile: tile, Taps: taps, Alpha: tile + taps - 1}
	for j, p := range points {
		others, scale := []float64{1}, 1.0 // product of x-q over the other points q, and its value at p
		for k, q := range points {
			if k != j {
				others, scale = timesRoot(others, q), scale*(p-q)
			}
		}
		w.BT = append(w.BT, append(others, 0))
		w.G = append(w.G, powers(p, taps, 1/scale))
	}
	all := []float64{1}
	for _, q := range points {
		all = timesRoot(all, q)
	}
	w.BT = append(w.BT, all)
	w.G = append(w.G, atInfinity(taps))
	for i := range tile {
		row := make([]float64, w.Alpha)
		for j, p := range points {
			row[j] = powers(p, tile, 1)[i]
		}
		row[w.Alpha-1] = atInfinity(tile)[i]
		w.AT = append(w.AT, row)
	}
	return w
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

// Tiles is the number of tiles that cover an output of n elements along the axis. Those of one residue of the dilation follow each other
// at multiples of it.
func (w *WinogradAxis) Tiles(n int) int {
	d, m := w.Dilation, w.Tile
	return d * (((n+d-1)/d + m - 1) / m)
}

// First is the first output of a tile; the others follow at multiples of the dilation.
func (w *WinogradAxis) First(tile int) int {
	return tile/w.Dilation*w.Dilation*w.Tile + tile%w.Dilation
}

// FirstOf is First of a variable tile.
func (w *WinogradAxis) FirstOf(tile expr.Expr) expr.Expr {
	d := w.Dilation
	return expr.Add(scaled(d*w.Tile, quotient(tile, d), 0), remainder(tile, d))
}

// tileOf is the tile of output i, and its place there.
func (w *WinogradAxis) tileOf(i expr.Expr) (tile, at expr.Expr) {
	d := w.Dilation
	return expr.Add(scaled(d, quotient(i, d*w.Tile), 0), remainder(i, d)), remainder(quotient(i, d), w.Tile)
}

// Products is the number of products of a tile.
func (w *Winograd) Products() int { return w.Axes[0].Alpha * w.Axes[1].Alpha }

// Phases is the number of phases, those of rows outside.
func (w *Winograd) Phases() int { return w.Axes[0].Phases * w.Axes[1].Phases }

// Summed is the number of pairs of a product and a phase that are not 0.
func (w *Winograd) Summed() int { return w.Axes[0].summed() * w.Axes[1].summed() }

func (w *WinogradAxis) summed() int { return (w.Alpha-1)*w.Phases + w.Full }

// Exact reports whether all elements of Bᵀ, Aᵀ and twice G are integers along both axes, so that integers are transformed without rounding:
// for the points 0, 1 and -1. Weights of integers are transformed by 2G along both axes, and what Aᵀ gives of the products is four times the
// result: in int32, which wraps, its lowest bits are right however large the parts of the sum are, and it is divided by a shift.
func (w *Winograd) Exact() bool { return w.Axes[0].exact() && w.Axes[1].exact() }

func (w *WinogradAxis) exact() bool { return w.Tile == 2 && w.Taps == 3 }

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

// sandwich is p x qᵀ for x of so many rows and columns as p and q have columns, row by row.
func sandwich(p, q [][]float64, x []float64) []float64 {
	n := len(q[0])
	half := make([]float64, len(p)*n)
	for i, row := range p {
		for k, v := range row {
			for j := range n {
				half[i*n+j] += v * x[k*n+j]
			}
		}
	}
	y := make([]float64, len(p)*len(q))
	for i := range p {
		for j, row := range q {
			for k, v := range row {
				y[i*len(q)+j] += half[i*n+k] * v
			}
		}
	}
	return y
}
