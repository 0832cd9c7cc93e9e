package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// An ssd writes a detector of TensorFlow, whose padding depends on the size.
type ssd struct{ exporter }

// relu6 is between 0 and 6.
func (d ssd) relu6(x model.Value) model.Value {
	return d.Do("Clip", x, d.Number(0), d.Number(6))
}

// half is a convolution of 3x3 at half the size, rounded up: even sizes have no padding in front.
func (d ssd) half(x model.Value, in, out, size, groups int) model.Value {
	w := model.Window{Kernel: []int{3, 3}, Stride: 2, Pads: []int{1, 1, 1, 1}, Group: groups}
	if size%2 == 0 {
		w.Pads = []int{0, 0, 1, 1}
	}
	return d.ConvBias(x, in, out, w)
}

// bottleneck is MobileNetV2's; it gives the wide image inside as well.
func (d ssd) bottleneck(x model.Value, in, times, out, stride, size int) (wide, y model.Value) {
	wide = x
	n := in * times
	if times > 1 {
		wide = d.relu6(d.conv(x, in, n, 1, 1, 1))
	}
	if stride == 2 {
		y = d.half(wide, n, n, size, n)
	} else {
		y = d.conv(wide, n, n, 3, 1, n)
	}
	y = d.conv(d.relu6(y), n, out, 1, 1, 1)
	if stride == 1 && in == out {
		y = d.add(x, y)
	}
	return wide, y
}

// features are images of 19x19 (inside a bottleneck) and 10x10 of MobileNetV2, and of four smaller sizes.
func (d ssd) features() (maps []model.Value) {
	x, in, size := d.relu6(d.half(d.Input(1, 3, 300, 300), 3, 32, 300, 1)), 32, 150
	for _, c := range [][4]int{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range c[2] {
			stride := 1
			if i == 0 {
				stride = c[3]
			}
			var wide model.Value
			if wide, x = d.bottleneck(x, in, c[0], c[1], stride, size); c[1] == 160 && i == 0 {
				maps = append(maps, wide)
			}
			in, size = c[1], (size+stride-1)/stride
		}
	}
	x, in = d.relu6(d.conv(x, 320, 1280, 1, 1, 1)), 1280
	maps = append(maps, x)
	for _, out := range []int{512, 256, 256, 128} {
		inner := out / 2
		x = d.relu6(d.conv(x, in, inner, 1, 1, 1))
		x = d.relu6(d.half(x, inner, inner, size, inner))
		x = d.relu6(d.conv(x, inner, out, 1, 1, 1))
		maps, in, size = append(maps, x), out, (size+1)/2
	}
	return maps
}

// ssdMobileNet detects objects of 90 classes in an image of 300x300: ssd_mobilenet_v2_coco of TensorFlow's detection API (Liu et al. 2016,
// Sandler et al. 2018), with folded normalisations. It gives the boxes that suppression leaves, with their scores and classes.
func ssdMobileNet(b exporter) {
	const classes = 90
	d := ssd{b}
	var offsets, scores []model.Value
	for i, x := range d.features() {
		in, n := []int{576, 1280, 512, 256, 256, 128}[i], len(boxesOf(i))
		offsets = append(offsets, d.perPlace(x, in, n, 4, 0))
		scores = append(scores, d.perPlace(x, in, n, 1+classes, -10))
	}
	boxes := d.decode(d.Do("Squeeze", d.Concat(1, offsets...), d.Ints(0)))
	score := d.Slice(d.Do("Sigmoid", d.Concat(1, scores...)), 2, 1, math.MaxInt64, 1) // none of the background
	d.suppress(boxes, d.Transpose(score, 0, 2, 1))
}

// perPlace gives numbers for each of n boxes at each place, near a mean.
func (d ssd) perPlace(x model.Value, in, n, numbers int, mean float64) model.Value {
	out := n * numbers
	d.Parameters += out
	bias := d.Constant(d.Uniform(mean-0.1, mean+0.1, out))
	weights := d.Weight(math.Sqrt(2/float64(9*in)), out, in, 3, 3)
	y := d.Op("Conv", []model.Value{x, weights, bias}, model.Square(3).Attrs()...)
	return d.view(d.Transpose(y, 0, 2, 3, 1), -100, -1, numbers)
}

// decode moves and scales the boxes that offsets belong to, and gives their corners.
func (d ssd) decode(offsets model.Value) model.Value {
	column := func(x model.Value) (all []model.Value) {
		for _, part := range d.Split(d.Transpose(x, 1, 0), 0, 1, 1, 1, 1) {
			all = append(all, d.Do("Squeeze", part, d.Ints(0)))
		}
		return all
	}
	o, a := column(offsets), column(d.Constant(anchors()))
	var low, high []model.Value
	for i := range 2 {
		middle := d.add(d.mul(d.Do("Div", o[i], d.Number(10)), a[2+i]), a[i])
		side := d.mul(d.Do("Exp", d.Do("Div", o[2+i], d.Number(5))), a[2+i])
		half := d.Do("Div", side, d.Number(2))
		low, high = append(low, d.Do("Sub", middle, half)), append(high, d.add(middle, half))
	}
	var rows []model.Value
	for _, v := range append(low, high...) {
		rows = append(rows, d.Do("Unsqueeze", v, d.Ints(0)))
	}
	boxes := d.Transpose(d.Concat(0, rows...), 1, 0)
	return d.Do("Max", d.Do("Min", boxes, d.Number(1)), d.Number(0))
}

// suppress gives the boxes, scores and classes that suppression keeps: at most 100 boxes of a class, which overlap none of a better score
// by 0.6. Scores are at least 0.3: the published 1e-8 would have thousands of random ones compete, of which some differ by less than rounding
// does.
func (d ssd) suppress(boxes, scores model.Value) {
	limit := d.Constant(tensor.Of([]int{1}, []int64{100}))
	overlap, least := d.Constant(tensor.Of([]int{1}, []float32{0.6})), d.Constant(tensor.Of([]int{1}, []float32{0.3}))
	kept := d.Do("NonMaxSuppression", d.Do("Unsqueeze", boxes, d.Ints(0)), scores, limit, overlap, least)
	d.Output(d.take(boxes, d.at(kept, 1, 2)), d.Do("GatherND", scores, kept))
	d.OutputOf(types.I64, d.at(kept, 1, 1))
}

// boxesOf are the heights and widths of the boxes at each place of a map, in units of the image.
func boxesOf(level int) (sizes [][2]float64) {
	scale := func(i int) float64 {
		if i == 6 {
			return 1
		}
		return 0.2 + 0.15*float64(i)
	}
	box := func(scale, ratio float64) {
		sizes = append(sizes, [2]float64{scale / math.Sqrt(ratio), scale * math.Sqrt(ratio)})
	}
	if level == 0 {
		box(0.1, 1)
		box(scale(0), 2)
		box(scale(0), 0.5)
		return sizes
	}
	for _, ratio := range []float64{1, 2, 0.5, 3, 1.0 / 3} {
		box(scale(level), ratio)
	}
	box(math.Sqrt(scale(level)*scale(level+1)), 1)
	return sizes
}

// anchors are the middles, heights and widths of all 1917 boxes.
func anchors() *tensor.Tensor {
	var v []float32
	for level, n := range []int{19, 10, 5, 3, 2, 1} {
		for k := range n * n {
			y, x := (float32(k/n)+0.5)/float32(n), (float32(k%n)+0.5)/float32(n)
			for _, s := range boxesOf(level) {
				v = append(v, y, x, float32(s[0]), float32(s[1]))
			}
		}
	}
	return tensor.Of([]int{len(v) / 4, 4}, v)
}
