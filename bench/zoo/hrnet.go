package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// hrNet is HRNet-W18: branches of four resolutions that exchange maps over and over, each as the sum of what the others give.
type hrNet struct{ exporter }

// hrWidths are the channels of the branches, hrHeads those inside the bottlenecks of the classifier.
var hrWidths, hrHeads = []int{18, 36, 72, 144}, []int{32, 64, 128, 256}

// hrNetW18 classifies (Wang et al. 2019; HRNet/HRNet-Image-Classification and timm's hrnet_w18).
func hrNetW18(b exporter) {
	h := hrNet{b}
	x := h.relu(h.conv(h.Input(1, 3, 224, 224), 3, 64, 3, 2, 1))
	x = h.relu(h.conv(x, 64, 64, 3, 2, 1))
	x = h.bottleneck(x, 64, 64)
	for range 3 {
		x = h.bottleneck(x, 256, 64)
	}
	maps := []model.Value{h.relu(h.conv(x, 256, 18, 3, 1, 1)), h.relu(h.conv(x, 256, 36, 3, 2, 1))}
	for stage, modules := range []int{1, 4, 3} {
		if n := len(maps); stage > 0 {
			maps = append(maps, h.relu(h.conv(maps[n-1], hrWidths[n-1], hrWidths[n], 3, 2, 1)))
		}
		for range modules {
			maps = h.exchange(h.branches(maps))
		}
	}
	h.classify(maps)
}

// bottleneck is ResNet's; the shortcut has a convolution where channels change.
func (h hrNet) bottleneck(x model.Value, in, width int) model.Value {
	y := h.relu(h.conv(x, in, width, 1, 1, 1))
	y = h.conv(h.relu(h.conv(y, width, width, 3, 1, 1)), width, 4*width, 1, 1, 1)
	if in != 4*width {
		x = h.conv(x, in, 4*width, 1, 1, 1)
	}
	return h.relu(h.add(y, x))
}

// branches sends every map through four basic blocks.
func (h hrNet) branches(maps []model.Value) (out []model.Value) {
	for i, x := range maps {
		c := hrWidths[i]
		for range 4 {
			y := h.conv(h.relu(h.conv(x, c, c, 3, 1, 1)), c, c, 3, 1, 1)
			x = h.relu(h.add(y, x))
		}
		out = append(out, x)
	}
	return out
}

// exchange sums all maps at every resolution.
func (h hrNet) exchange(maps []model.Value) (out []model.Value) {
	for i := range maps {
		sum := h.brought(maps[0], 0, i)
		for j := 1; j < len(maps); j++ {
			sum = h.add(sum, h.brought(maps[j], j, i))
		}
		out = append(out, h.relu(sum))
	}
	return out
}

// brought is the map of branch j at the resolution of branch i: enlarged by the nearest, or halved by convolutions.
func (h hrNet) brought(x model.Value, j, i int) model.Value {
	if j > i {
		return h.enlarge(h.conv(x, hrWidths[j], hrWidths[i], 1, 1, 1), 1<<(j-i))
	}
	for k := j; k < i-1; k++ {
		x = h.relu(h.conv(x, hrWidths[j], hrWidths[j], 3, 2, 1))
	}
	if j < i {
		x = h.conv(x, hrWidths[j], hrWidths[i], 3, 2, 1)
	}
	return x
}

// enlarge repeats every pixel as often in both directions, as an Upsample of a whole factor is exported.
func (h hrNet) enlarge(x model.Value, by int) model.Value {
	scales := h.Constant(tensor.Of([]int{4}, []float32{1, 1, float32(by), float32(by)}))
	return h.Op("Resize", []model.Value{x, model.Absent, scales}, model.At("coordinate_transformation_mode", "asymmetric"),
		model.At("cubic_coeff_a", -0.75), model.At("mode", "nearest"), model.At("nearest_mode", "floor"))
}

// classify joins the maps from the largest to the smallest by convolutions.
func (h hrNet) classify(maps []model.Value) {
	y := h.bottleneck(maps[0], hrWidths[0], hrHeads[0])
	for i := 1; i < len(maps); i++ {
		z := h.bottleneck(maps[i], hrWidths[i], hrHeads[i])
		y = h.add(z, h.relu(h.conv(y, 4*hrHeads[i-1], 4*hrHeads[i], 3, 2, 1)))
	}
	h.head(h.relu(h.conv(y, 1024, 2048, 1, 1, 1)), 2048, 1000)
}
