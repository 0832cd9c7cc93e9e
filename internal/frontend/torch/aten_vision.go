package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// The operators of torchvision.
var visionRows = []row{
	sig("torchvision.nms", "dets scores iou_threshold:n", func(c *call) any {
		boxes, scores := c.x("dets"), c.x("scores")
		n := scores.Type.Elements()
		rows := c.Results(ops.AllClassNMS, ops.NMSAttrs{MaxOutput: max(n, 1), IOUThreshold: float64(float32(c.num("iou_threshold", 0.5)))},
			c.Reshape(boxes, 1, n, 4), c.Reshape(scores, 1, 1, n))[0]
		return c.At(rows, 1, 2)
	}),
	sig("torchvision.roi_align", "input rois spatial_scale:n pooled_height:i pooled_width:i sampling_ratio:i aligned:b", func(c *call) any {
		rois := c.x("rois")
		batch := c.Cast(c.At(rois, 1, 0), types.I64)
		return c.Apply(ops.RoiAlign, ops.RoiAlignAttrs{PooledSize: []int{c.int("pooled_height", 1), c.int("pooled_width", 1)}, SpatialScale: c.num("spatial_scale", 1),
			SampleRatio: max(c.int("sampling_ratio", 0), 0), Mode: "avg", HalfPixel: c.bool("aligned", false)}, c.x("input"), c.Slice(rois, 1, 1, 5), batch)
	}),
	sig("torchvision.roi_pool", "input rois spatial_scale:n pooled_height:i pooled_width:i", func(c *call) any {
		y := c.Apply(ops.RoiPool, ops.RoiPoolAttrs{PooledSize: []int{c.int("pooled_height", 1), c.int("pooled_width", 1)}, SpatialScale: c.num("spatial_scale", 1)}, c.x("input"), c.x("rois"))
		return tuple{c.fresh(y), nil}
	}),
	sig("torchvision.deform_conv2d", "input weight offset mask bias stride_h:i stride_w:i pad_h:i pad_w:i dilation_h:i dilation_w:i groups:i offset_groups:i use_mask:b", func(c *call) any {
		pair := func(name string, absent int) []int { return []int{c.int(name+"_h", absent), c.int(name+"_w", absent)} }
		x, w, pad := c.x("input"), c.x("weight"), pair("pad", 0)
		if x.Type.Rank() != 4 || w.Type.Rank() != 4 {
			fail("data %s with weights %s", x.Type, w.Type)
		}
		d := compose.Deformable{Groups: c.int("groups", 1), Offset: c.x("offset"),
			Window: compose.Window{In: x.Type.Shape[2:], Kernel: w.Type.Shape[2:], Strides: pair("stride", 1), Dilation: pair("dilation", 1), Padding: slices.Concat(pad, pad)}}
		if c.bool("use_mask", false) {
			d.Mask = c.x("mask")
		}
		return c.DeformableConv(d, x, w, c.opt("bias"))
	}),
}
