package caffe

import (
	"math"
	"strconv"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
)

// regionRows are the layers of Faster R-CNN (Ren et al., 2015) and R-FCN.
var regionRows = []row{{"Proposal", proposal}, {"PSROIPooling", one(psroiPooling)}}

// proposal gives regions [post_nms_topn, 5], with 0 for the picture and corners, and their scores. It is a layer of its own, or the layer of that
// name of py-faster-rcnn, whose parameters are text: its numbers of regions are those of the default configuration for tests.
func proposal(c *call) values {
	c.WantRank(0, 4)
	c.Ignore("module", "layer")
	stride, base := c.Int("feat_stride", 16), c.Int("base_size", 16)
	ratios, scales := c.Floats("ratio"), c.Floats("scale")
	for _, part := range strings.Split(strings.Trim(c.Str("param_str", ""), "{} \n"), "\n") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, v, _ := strings.Cut(part, ":")
		if strings.Trim(name, "'\" ") != "feat_stride" {
			compose.Fail("param_str %q is not supported; feat_stride is", part)
		}
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			compose.Fail("param_str %q", part)
		}
		stride = n
	}
	if ratios == nil {
		ratios = []float64{0.5, 1, 2}
	}
	if scales == nil {
		scales = []float64{8, 16, 32}
	}
	var shapes [][2]float64
	for _, r := range ratios {
		width := math.RoundToEven(math.Sqrt(float64(base*base) / r))
		height := math.RoundToEven(width * r)
		for _, s := range scales {
			shapes = append(shapes, [2]float64{width * s, height * s})
		}
	}
	x := c.X(0)
	if x.Type.Shape[1] != 2*len(shapes) {
		compose.Fail("scores %s of %d anchors", x.Type, len(shapes))
	}
	p := compose.Proposals{Scores: c.Slice(x, 1, len(shapes), 2*len(shapes)), Offsets: c.X(1), Picture: c.X(2), Anchors: compose.Anchors(base, shapes), Stride: stride, Least: c.Float("min_size", 16),
		Top: c.Int("pre_nms_topn", 6000), Keep: c.Int("post_nms_topn", 300), Overlap: c.Float("nms_thresh", 0.7)}
	boxes, scores := c.Propose(p)
	c.Note("%s gives %d regions; where there are fewer, they are repeated", c.Node.Name, p.Keep)
	return values{c.Concat(1, c.Full(x.Type.DType, 0, p.Keep, 1), boxes), scores}
}

func psroiPooling(c *call) *graph.Value {
	bins := c.Int("group_size", 0)
	y := c.PSRoiPool(c.RoundedRegions(c.Reshape(c.X(1), c.Shape(1)[0], 5), c.Float("spatial_scale", 1), bins), c.X(0))
	if n := c.Int("output_dim", 0); y.Type.Shape[1] != n {
		compose.Fail("output_dim %d with %s", n, c.X(0).Type)
	}
	return y
}
