package ops

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// weightsAtOnce is how many kernels are transformed together, and weightsStored how many before any is stored: the same place of one and the next
// kernel are side by side, and different places far apart, where a store of a line waits for memory and one of a kilobyte does not.
const (
	weightsAtOnce = 16
	weightsStored = 16 * weightsAtOnce
)

// mostAlpha and mostTaps are the greatest numbers of products and of taps along an axis.
const (
	mostAlpha = 8
	mostTaps  = 7
)

// weights is the matrix that transforms weights to type t along an axis: G, or for integers twice G.
func (w *WinogradAxis) weights(t types.DType) [][]float64 {
	if !t.IsInt() {
		return w.G
	}
	m := make([][]float64, len(w.G))
	for i, row := range w.G {
		for _, x := range row {
			m[i] = append(m[i], 2*x)
		}
	}
	return m
}

// Weights transforms kernels lo to hi of weight, [O, C, kh, kw], to u, [k, O, C]: every kernel g becomes G g Gᵀ, with the matrices of both
// axes. Types are those that WinogradWeight infers. Ranges apart from each other may be transformed at the same time.
func (w *Winograd) Weights(u, weight *tensor.Tensor, lo, hi int) {
	rows, cols := w.Axes[0].weights(u.DType), w.Axes[1].weights(u.DType)
	if u.DType == types.I16 {
		transformWeights(rows, cols, tensor.As[int16](u), tensor.As[int8](weight), lo, hi)
		return
	}
	transformWeights(rows, cols, tensor.As[float32](u), tensor.As[float32](weight), lo, hi)
}

// A bundle is an element of each of some kernels.
type bundle [weightsAtOnce]float64

// sum sets b to the sum of x by factors, of which factor i is that of x[i*step]; one of zero counts, for it makes NaN of what is not finite. Three go
// through memory once.
func (b *bundle) sum(factors []float64, x []bundle, step int) {
	*b = bundle{}
	at := 0
	for ; len(factors) >= 3; factors = factors[3:] {
		m0, m1, m2 := factors[0], factors[1], factors[2]
		x0, x1, x2 := &x[at], &x[at+step], &x[at+2*step]
		for i := range b {
			b[i] = b[i] + m0*x0[i] + m1*x1[i] + m2*x2[i]
		}
		at += 3 * step
	}
	for _, m := range factors {
		from := &x[at]
		for i := range b {
			b[i] += m * from[i]
		}
		at += step
	}
}

// transformWeights writes rows g colsᵀ of kernels lo to hi. A network has many millions of weights: nothing is
// allocated for each.
func transformWeights[T float32 | int16, W float32 | int8](rows, cols [][]float64, u []T, weight []W, lo, hi int) {
	width := len(cols[0])
	taps := len(rows[0]) * width
	kernels := len(weight) / taps
	var g [mostTaps * mostTaps]bundle
	var half [mostTaps]bundle
	var sum bundle
	kept := make([]T, len(rows)*len(cols)*weightsStored)
	for ; lo < hi; lo += weightsStored {
		last := min(lo+weightsStored, hi)
		for from := lo; from < last; from += weightsAtOnce {
			n := min(weightsAtOnce, last-from)
			for i := range n {
				for k, v := range weight[(from+i)*taps : (from+i+1)*taps] {
					g[k][i] = float64(v)
				}
			}
			for r, row := range rows {
				for c := range width {
					half[c].sum(row, g[c:], width)
				}
				for c, col := range cols {
					sum.sum(col, half[:], 1)
					to := kept[(r*len(cols)+c)*weightsStored+from-lo:][:n]
					for i := range to {
						to[i] = T(sum[i])
					}
				}
			}
		}
		for k := range len(rows) * len(cols) {
			copy(u[k*kernels+lo:], kept[k*weightsStored:][:last-lo])
		}
	}
}
