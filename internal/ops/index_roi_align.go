package ops

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// RoiAlignAttrs are the attributes of vision.roi_align. PooledSize is height and width of the result. SampleRatio is the
// number of sample points per bin and axis; 0 takes one per pixel, rounded up, but no more than maxSamples. HalfPixel shifts the regions by half a pixel
// and allows them to be smaller than one (ONNX's half_pixel mode; false is output_half_pixel). Mode is "avg" or "max".
type RoiAlignAttrs struct {
	PooledSize   []int
	SpatialScale float64
	SampleRatio  int
	Mode         string
	HalfPixel    bool
}

// RoiAlign resamples regions of feature maps to one size. It has no tensor expression: with SampleRatio 0 the number of
// samples depends on the regions.
var RoiAlign = op.Define(op.Spec[RoiAlignAttrs]{
	Name:   "vision.roi_align",
	Doc:    "vision.roi_align resamples regions [x1, y1, x2, y2] of N,C,H,W feature maps by averages or maxima of bilinear samples: ONNX's RoiAlign.",
	Args:   []string{"data", "rois", "batch_indices"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a RoiAlignAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, rois, batch := in[0], in[1], in[2]
		if err := sameDType(floats, []string{"data", "rois"}, in[:2]); err != nil {
			return nil, err
		}
		if data.Rank() != 4 || rois.Rank() != 2 || rois.Shape[1] != 4 {
			return nil, fmt.Errorf("data is %s, not N,C,H,W, or rois are %s, not [regions,4]", data, rois)
		}
		if !batch.DType.IsInt() || batch.Rank() != 1 || batch.Shape[0] != rois.Shape[0] {
			return nil, fmt.Errorf("batch_indices are %s, not one integer for each of the %d regions", batch, rois.Shape[0])
		}
		if err := wantEach("pooled_size", a.PooledSize, 2, 1, 1<<20); err != nil {
			return nil, err
		}
		if a.SampleRatio < 0 || a.SampleRatio > maxSamples || a.Mode != "avg" && a.Mode != "max" {
			return nil, fmt.Errorf("sample_ratio %d, mode %q (the modes are avg and max)", a.SampleRatio, a.Mode)
		}
		if rois.Shape[0]*data.Shape[1] > 0 && data.Elements() == 0 {
			return nil, fmt.Errorf("data %s is empty", data)
		}
		return []types.Tensor{types.Of(data.DType, rois.Shape[0], data.Shape[1], a.PooledSize[0], a.PooledSize[1])}, nil
	},
	Eval: func(a RoiAlignAttrs, in, out []*tensor.Tensor) error {
		data, rois, batch := in[0], in[1], in[2]
		for r := range rois.Shape[0] {
			y := a.samples(rois.Float(4*r+1), rois.Float(4*r+3), a.PooledSize[0], data.Shape[2])
			x := a.samples(rois.Float(4*r), rois.Float(4*r+2), a.PooledSize[1], data.Shape[3])
			n := wrapIndex(int(batch.Int(r)), data.Shape[0])
			eachIndex(out[0].Shape[1:], func(at []int) {
				plane := (n*data.Shape[1] + at[0]) * data.Shape[2] * data.Shape[3]
				v := a.pool(data, plane, y[at[1]], x[at[2]])
				out[0].SetFloat(offsetOf(out[0].Shape, append([]int{r}, at...)), v)
			})
		}
		return nil
	},
	Sample: func(r *rand.Rand) (RoiAlignAttrs, []types.Tensor) {
		d := draw{r}
		a := RoiAlignAttrs{[]int{d.between(1, 4), d.between(1, 4)}, 0.5, d.between(0, 3), d.word("avg", "max"), d.coin(2)}
		n, dt := d.between(0, 4), d.float()
		return a, []types.Tensor{types.Of(dt, d.full(4, 4)...), types.Of(dt, n, 4), types.Of(types.I64, n)}
	},
})

// maxSamples bounds the sample points per bin and axis, so that a meaningless region is no long wait. It is far beyond what
// a region inside a feature map needs.
const maxSamples = 1 << 12

// A binSamples are the sample points of a bin along one axis: how many there are, and those within the feature map.
type binSamples struct {
	count  int
	inside []bracket
}

// A bracket is a coordinate between two neighbouring pixels, w behind the first.
type bracket struct {
	lo, hi int
	w      float64
}

// samples gives the sample points of each bin along one axis, of n pixels, of a region from start to end.
func (a RoiAlignAttrs) samples(start, end float64, bins, n int) []binSamples {
	shift := 0.0
	if a.HalfPixel {
		shift = 0.5
	}
	start, end = start*a.SpatialScale-shift, end*a.SpatialScale-shift
	length := end - start
	if !a.HalfPixel {
		length = math.Max(length, 1)
	}
	bin := length / float64(bins)
	count := a.SampleRatio
	if count == 0 {
		count = max(0, min(maxSamples, saturatedInt(math.Ceil(bin))))
	}
	points := make([]binSamples, bins)
	for b := range points {
		points[b].count = count
		for i := range count {
			x := start + float64(b)*bin + (float64(i)+0.5)*bin/float64(count)
			if c, ok := around(x, n); ok {
				points[b].inside = append(points[b].inside, c)
			}
		}
	}
	return points
}

// around gives the pixels on both sides of a coordinate; coordinates more than one pixel outside have none.
func around(x float64, n int) (bracket, bool) {
	if !(x >= -1 && x <= float64(n)) {
		return bracket{}, false
	}
	x = math.Max(x, 0)
	lo := int(x)
	if lo >= n-1 {
		return bracket{n - 1, n - 1, 0}, true
	}
	return bracket{lo, lo + 1, x - float64(lo)}, true
}

// pool averages the bilinear samples at all pairs of y and x, or takes the greatest of their weighted corners, as ONNX
// defines its max mode. Samples outside the feature map count as 0; without samples the result is 0.
func (a RoiAlignAttrs) pool(data *tensor.Tensor, plane int, ys, xs binSamples) float64 {
	sum, most, seen := 0.0, math.Inf(-1), 0
	for _, y := range ys.inside {
		for _, x := range xs.inside {
			v := func(row, col int) float64 { return data.Float(plane + row*data.Shape[3] + col) }
			for _, c := range []float64{
				(1 - y.w) * (1 - x.w) * v(y.lo, x.lo), (1 - y.w) * x.w * v(y.lo, x.hi),
				y.w * (1 - x.w) * v(y.hi, x.lo), y.w * x.w * v(y.hi, x.hi),
			} {
				sum, most = sum+c, math.Max(most, c)
			}
			seen++
		}
	}
	count := ys.count * xs.count
	switch {
	case count == 0:
		return 0
	case a.Mode == "avg":
		return sum / float64(count)
	case seen < count:
		return math.Max(most, 0)
	}
	return most
}
