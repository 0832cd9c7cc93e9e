package ops

import "lathe/internal/tensor"

// Weights transforms kernels lo to hi of weight, [O, C, 3, 3], to u, [k, O, C]: every kernel g becomes G g Gᵀ. A network has many
// millions of weights: nothing is allocated, and ranges apart from each other may be transformed at the same time.
func (w *Winograd) Weights(u, weight *tensor.Tensor, lo, hi int) {
	const taps = winogradTaps
	kernels := weight.Len() / (taps * taps)
	for i := lo; i < hi; i++ {
		var g [taps][taps]float64
		for k := range taps * taps {
			g[k/taps][k%taps] = weight.Float(i*taps*taps + k)
		}
		for r, row := range w.G {
			var half [taps]float64
			for c := range half {
				half[c] = row[0]*g[0][c] + row[1]*g[1][c] + row[2]*g[2][c]
			}
			for c, col := range w.G {
				u.SetFloat((r*w.Alpha+c)*kernels+i, half[0]*col[0]+half[1]*col[1]+half[2]*col[2])
			}
		}
	}
}
