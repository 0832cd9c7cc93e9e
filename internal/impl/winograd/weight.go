package winograd

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"

	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// transformedWeight is the constant that the transform of a constant weight gives: ops.WinogradWeight, evaluated fast, for a
// network has many millions of weights.
func transformedWeight(w *graph.Value, tile int) (*graph.Value, error) {
	t, err := ops.WinogradWeight.Infer(ops.WinogradWeightAttrs{TileSize: tile}, []op.Arg{{Tensor: w.Type}})
	if err != nil {
		return nil, err
	}
	m, err := ops.WinogradOf(tile)
	if err != nil {
		return nil, err
	}
	u := tensor.NewOf(t[0])
	kernels := t[0].Shape[1] * t[0].Shape[2]
	parts := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	errs := make([]error, parts)
	for p := range parts {
		wg.Go(func() {
			errs[p] = fault.Guard(func() error {
				transformKernels(m, w.Const.Data, u.Data, kernels, kernels*p/parts, kernels*(p+1)/parts)
				return nil
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return graph.NewConst(w.Name, u), nil
}

// transformKernels writes element k of each transformed kernel G g Gᵀ of [lo, hi) to place k*kernels of u, in float32.
func transformKernels(m *ops.Winograd, w, u []byte, kernels, lo, hi int) {
	const taps = 3
	at := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(w[4*i:]))) }
	for i := lo; i < hi; i++ {
		var g [taps][taps]float64
		for k := range taps * taps {
			g[k/taps][k%taps] = at(i*taps*taps + k)
		}
		for r, row := range m.G {
			var half [taps]float64
			for c := range half {
				half[c] = row[0]*g[0][c] + row[1]*g[1][c] + row[2]*g[2][c]
			}
			for c, col := range m.G {
				v := half[0]*col[0] + half[1]*col[1] + half[2]*col[2]
				binary.LittleEndian.PutUint32(u[4*((r*m.Alpha+c)*kernels+i):], math.Float32bits(float32(v)))
			}
		}
	}
}
