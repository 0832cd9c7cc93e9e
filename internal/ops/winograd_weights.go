package ops

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// weightsAtOnce is how many kernels are transformed before any is stored: as many float32 as a cache line holds, for the same
// place of one and the next kernel are side by side, and different places far apart.
const weightsAtOnce = 16

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

// add adds m times x.
func (b *bundle) add(m float64, x *bundle) {
	for i := range b {
		b[i] += m * x[i]
	}
}

// transformWeights writes rows g colsᵀ of kernels lo to hi. A network has many millions of weights: nothing is allocated for each.
func transformWeights[T float32 | int16, W float32 | int8](rows, cols [][]float64, u []T, weight []W, lo, hi int) {
	width := len(cols[0])
	taps := len(rows[0]) * width
	kernels := len(weight) / taps
	var g [mostTaps * mostTaps]bundle
	var half [mostTaps]bundle
	var block [mostAlpha * mostAlpha]bundle
	for from := lo; from < hi; from += weightsAtOnce {
		n := min(weightsAtOnce, hi-from)
		for i := range n {
			for k, v := range weight[(from+i)*taps : (from+i+1)*taps] {
				g[k][i] = float64(v)
			}
		}
		for r, row := range rows {
			for c := range width {
				half[c] = bundle{}
				for k, m := range row {
					half[c].add(m, &g[k*width+c])
				}
			}
			for c, col := range cols {
				sum := &block[r*len(cols)+c]
				*sum = bundle{}
				for k, m := range col {
					sum.add(m, &half[k])
				}
			}
		}
		for k := range len(rows) * len(cols) {
			for i, v := range block[k][:n] {
				u[k*kernels+from+i] = T(v)
			}
		}
	}
}
