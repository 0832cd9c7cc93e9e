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

// Weights transforms kernels lo to hi of weight, [O, C, 3, 3], to u, [k, O, C]: every kernel g becomes G g Gᵀ. A network has many
// millions of weights: nothing is allocated for each, and ranges apart from each other may be transformed at the same time.
func (w *Winograd) Weights(u, weight *tensor.Tensor, lo, hi int) {
	const taps = winogradTaps
	kernels := weight.Len() / (taps * taps)
	var values, result []float32
	if weight.DType == types.F32 && u.DType == types.F32 {
		values, result = tensor.As[float32](weight), tensor.As[float32](u)
	}
	var matrix [mostAlpha][taps]float64
	for r, row := range w.G {
		matrix[r] = [taps]float64(row)
	}
	var rows [mostAlpha * mostAlpha][weightsAtOnce]float64
	block := rows[:w.Alpha*w.Alpha]
	for from := lo; from < hi; from += weightsAtOnce {
		n := min(weightsAtOnce, hi-from)
		for i := range n {
			var g [taps][taps]float64
			for k := range taps * taps {
				at := (from+i)*taps*taps + k
				if values != nil {
					g[k/taps][k%taps] = float64(values[at])
				} else {
					g[k/taps][k%taps] = weight.Float(at)
				}
			}
			for r := range w.Alpha {
				row := &matrix[r]
				x := row[0]*g[0][0] + row[1]*g[1][0] + row[2]*g[2][0]
				y := row[0]*g[0][1] + row[1]*g[1][1] + row[2]*g[2][1]
				z := row[0]*g[0][2] + row[1]*g[1][2] + row[2]*g[2][2]
				for c := range w.Alpha {
					col := &matrix[c]
					block[r*w.Alpha+c][i] = x*col[0] + y*col[1] + z*col[2]
				}
			}
		}
		for k := range block {
			for i, v := range block[k][:n] {
				if result != nil {
					result[k*kernels+from+i] = float32(v)
				} else {
					u.SetFloat(k*kernels+from+i, v)
				}
			}
		}
	}
}
