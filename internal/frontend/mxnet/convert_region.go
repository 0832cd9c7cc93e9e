package mxnet

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var regionRows = []row{
	{"_contrib_PSROIPooling", psroiPooling}, {"Correlation", correlation}, {"GridGenerator", gridGenerator}, {"SpatialTransformer", spatialTransformer},
}

// proposal gives regions [pictures*rpn_post_nms_top_n, 5], with the place in the batch and corners, and their scores.
func proposal(c *call) values {
	c.WantRank(0, 4)
	c.WantRank(2, 2)
	c.Ignore("output_score")
	if c.Bool("iou_loss", false) {
		compose.Fail("iou_loss is not supported")
	}
	x, batch := c.X(0), c.Shape(0)[0]
	stride := c.Int("feature_stride", 16)
	scales, ratios := c.Floats("scales"), c.Floats("ratios")
	if scales == nil {
		scales = []float64{4, 8, 16, 32}
	}
	if ratios == nil {
		ratios = []float64{0.5, 1, 2}
	}
	var shapes [][2]float64
	for _, r := range ratios {
		width := math.Floor(math.Sqrt(math.Floor(float64(stride*stride)/r)) + 0.5)
		height := math.Floor(width*r + 0.5)
		for _, s := range scales {
			shapes = append(shapes, [2]float64{width * s, height * s})
		}
	}
	anchors := len(shapes)
	if x.Type.Shape[1] != 2*anchors || batch < 1 || c.Shape(2)[0] != batch {
		compose.Fail("scores %s of %d anchors with pictures %s", x.Type, anchors, c.X(2).Type)
	}
	p := compose.Proposals{Anchors: compose.Anchors(stride, shapes), Stride: stride, Within: true, Low: true, Least: c.Float("rpn_min_size", 16),
		Top: c.Int("rpn_pre_nms_top_n", 6000), Keep: c.Int("rpn_post_nms_top_n", 300), Overlap: c.Float("threshold", 0.7)}
	var rois, scores values
	for i := range batch {
		of := func(k int) *graph.Value { return c.Slice(c.X(k), 0, i, i+1) }
		p.Scores, p.Offsets, p.Picture = c.Slice(of(0), 1, anchors, 2*anchors), of(1), of(2)
		boxes, score := c.Propose(p)
		rois, scores = append(rois, c.Concat(1, c.Full(x.Type.DType, float64(i), p.Keep, 1), boxes)), append(scores, score)
	}
	return values{c.Concat(0, rois...), c.Concat(0, scores...)}
}

func psroiPooling(c *call) *graph.Value {
	bins, channels := c.Int("pooled_size", 0), c.Int("output_dim", 0)
	if groups := c.Int("group_size", 0); groups != 0 && groups != bins {
		compose.Fail("group_size %d of %d bins is not supported", groups, bins)
	}
	y := c.PSRoiPool(c.RoundedRegions(c.X(1), c.Float("spatial_scale", 1), bins), c.X(0))
	if y.Type.Shape[1] != channels {
		compose.Fail("output_dim %d with %s", channels, c.X(0).Type)
	}
	return y
}

func correlation(c *call) *graph.Value {
	return c.Correlate(compose.Correlation{Kernel: c.Int("kernel_size", 1), Displacement: c.Int("max_displacement", 1), Strides: [2]int{c.Int("stride1", 1), c.Int("stride2", 1)},
		Padding: c.Int("pad_size", 0), Differences: !c.Bool("is_multiply", true)}, c.X(0), c.X(1))
}

// affineGrid is the grid [batch, height, width, (x, y)] of matrices [batch, 6].
func (c *call) affineGrid(theta *graph.Value) *graph.Value {
	size := c.Ints("target_shape")
	if len(size) != 2 || theta.Type.Rank() != 2 || theta.Type.Shape[1] != 6 {
		compose.Fail("target_shape %v of matrices %s", size, theta.Type)
	}
	return c.Apply(ops.AffineGrid, ops.AffineGridAttrs{Sizes: size, AlignCorners: true}, c.Reshape(theta, theta.Type.Shape[0], 2, 3))
}

// gridGenerator gives a grid [batch, (x, y), height, width] of matrices, or of how far each place moves.
func gridGenerator(c *call) *graph.Value {
	x := c.X(0)
	if c.OneOf("transform_type", "", "affine", "warp") == "affine" {
		return c.Transpose(c.affineGrid(x), 0, 3, 1, 2)
	}
	c.Ignore("target_shape")
	if x.Type.Rank() != 4 || x.Type.Shape[1] != 2 {
		compose.Fail("a flow %s", x.Type)
	}
	h, w := x.Type.Shape[2], x.Type.Shape[3]
	line := func(n int, shape ...int) *graph.Value {
		return c.BroadcastTo(c.Reshape(c.Series(x.Type.DType, 0, 1, n), shape...), 1, 1, h, w)
	}
	half := func(n int) float64 { return float64(n-1) / 2 }
	x = c.Do(ops.Add, x, c.Concat(1, line(w, 1, 1, 1, w), line(h, 1, 1, h, 1)))
	return c.Do(ops.Subtract, c.Do(ops.Divide, x, c.Reshape(compose.Floats(half(w), half(h)), 1, 2, 1, 1)), compose.Like(x, 1))
}

func spatialTransformer(c *call) *graph.Value {
	c.Ignore("cudnn_off")
	c.OneOf("transform_type", "affine", "affine")
	c.OneOf("sampler_type", "bilinear", "bilinear")
	return c.Apply(ops.GridSample, ops.GridSampleAttrs{Method: "linear", PaddingMode: "zeros", AlignCorners: true}, c.X(0), c.affineGrid(c.X(1)))
}
