package ops

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// RoiPoolAttrs are the attributes of vision.roi_pool. PooledSize is height and width of the result.
type RoiPoolAttrs struct {
	PooledSize   []int
	SpatialScale float64
}

// RoiPool pools the maxima of regions of feature maps. It has no tensor expression: its windows depend on the regions.
var RoiPool = op.Define(op.Spec[RoiPoolAttrs]{
	Name:   "vision.roi_pool",
	Doc:    "vision.roi_pool gives the maxima of the bins of regions [batch, x1, y1, x2, y2] of N,C,H,W feature maps, 0 for empty bins: ONNX's MaxRoiPool.",
	Args:   []string{"data", "rois"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a RoiPoolAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, rois := in[0], in[1]
		if err := sameDType(floats, []string{"data", "rois"}, in); err != nil {
			return nil, err
		}
		if data.Rank() != 4 || rois.Rank() != 2 || rois.Shape[1] != 5 {
			return nil, fmt.Errorf("data is %s, not N,C,H,W, or rois are %s, not [regions,5]", data, rois)
		}
		if err := wantEach("pooled_size", a.PooledSize, 2, 1, 1<<20); err != nil {
			return nil, err
		}
		if rois.Shape[0]*data.Shape[1] > 0 && data.Elements() == 0 {
			return nil, fmt.Errorf("data %s is empty", data)
		}
		return []types.Tensor{types.Of(data.DType, rois.Shape[0], data.Shape[1], a.PooledSize[0], a.PooledSize[1])}, nil
	},
	Eval: func(a RoiPoolAttrs, in, out []*tensor.Tensor) error {
		data, rois := in[0], in[1]
		eachIndex(out[0].Shape, func(at []int) {
			roi := func(k int) float64 { return rois.Float(5*at[0] + k) }
			y0, y1 := a.bin(roi(2), roi(4), at[2], a.PooledSize[0], data.Shape[2])
			x0, x1 := a.bin(roi(1), roi(3), at[3], a.PooledSize[1], data.Shape[3])
			batch := tensor.New(types.I64, 1)
			batch.SetFloat(0, roi(0))
			n := wrapIndex(int(batch.Int(0)), data.Shape[0])
			most, seen := 0.0, false
			for y := y0; y < y1; y++ {
				for x := x0; x < x1; x++ {
					v := data.Float(offsetOf(data.Shape, []int{n, at[1], y, x}))
					if !seen || v > most || v != v {
						most, seen = v, true
					}
				}
			}
			out[0].SetFloat(offsetOf(out[0].Shape, at), most)
		})
		return nil
	},
	Sample: func(r *rand.Rand) (RoiPoolAttrs, []types.Tensor) {
		d := draw{r}
		dt := d.float()
		return RoiPoolAttrs{[]int{d.between(1, 4), d.between(1, 4)}, 0.5}, []types.Tensor{types.Of(dt, d.full(4, 4)...), types.Of(dt, d.between(0, 4), 5)}
	},
})

// bin is the range of pixels of bin b out of bins, along an axis of n pixels, of a region from start to end inclusive.
func (a RoiPoolAttrs) bin(start, end float64, b, bins, n int) (lo, hi int) {
	start, end = math.Round(start*a.SpatialScale), math.Round(end*a.SpatialScale)
	size := math.Max(end-start+1, 1) / float64(bins)
	pixel := func(x float64) int { return max(0, min(n, saturatedInt(x))) }
	return pixel(start + math.Floor(float64(b)*size)), pixel(start + math.Ceil(float64(b+1)*size))
}
