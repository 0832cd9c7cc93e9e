package ops

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// weightsAtOnce is how many kernels are transformed before any is stored: as many float32 as a cache line holds, for the same
// place of one and the next kernel are side by side, and different places far apart.
const weightsAtOnce = 16

// mostAlpha is the greatest Winograd.Alpha.
const mostAlpha = 8

// weights is the matrix that transforms weights to type t: G, or for integers twice G.
func (w *Winograd) weights(t types.DType) [][]float64 {
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

// Weights transforms kernels lo to hi of weight, [O, C, 3, 3], to u, [k, O, C]: every kernel g becomes G g Gᵀ. Types are those that
// WinogradWeight infers. Ranges apart from each other may be transformed at the same time.
func (w *Winograd) Weights(u, weight *tensor.Tensor, lo, hi int) {
	if u.DType == types.I16 {
		transformWeights(w.weights(u.DType), tensor.As[int16](u), tensor.As[int8](weight), lo, hi)
		return
	}
	transformWeights(w.G, tensor.As[float32](u), tensor.As[float32](weight), lo, hi)
}

// transformWeights writes m g mᵀ of kernels lo to hi. A network has many millions of weights: nothing is allocated for each.
func transformWeights[T float32 | int16, W float32 | int8](m [][]float64, u []T, weight []W, lo, hi int) {
	const taps = winogradTaps
	alpha, kernels := len(m), len(weight)/(taps*taps)
	var matrix [mostAlpha][taps]float64
	for r, row := range m {
		matrix[r] = [taps]float64(row)
	}
	var rows [mostAlpha * mostAlpha][weightsAtOnce]float64
	block := rows[:alpha*alpha]
	for from := lo; from < hi; from += weightsAtOnce {
		n := min(weightsAtOnce, hi-from)
		for i := range n {
			var g [taps][taps]float64
			for k := range taps * taps {
				g[k/taps][k%taps] = float64(weight[(from+i)*taps*taps+k])
			}
			for r := range alpha {
				row := &matrix[r]
				x := row[0]*g[0][0] + row[1]*g[1][0] + row[2]*g[2][0]
				y := row[0]*g[0][1] + row[1]*g[1][1] + row[2]*g[2][1]
				z := row[0]*g[0][2] + row[1]*g[1][2] + row[2]*g[2][2]
				for c := range alpha {
					col := &matrix[c]
					block[r*alpha+c][i] = x*col[0] + y*col[1] + z*col[2]
				}
			}
		}
		for k := range block {
			for i, v := range block[k][:n] {
				u[k*kernels+from+i] = T(v)
			}
		}
	}
}
