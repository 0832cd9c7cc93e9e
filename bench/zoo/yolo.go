package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// yolo builds YOLOv8 of the width n.
type yolo struct{ *model.Builder }

func (y yolo) conv(x model.Value, in, out, kernel, stride int) model.Value {
	return y.SiLU(y.ConvBN(x, in, out, model.Square(kernel).By(stride)))
}

// c2f splits channels, sends one half through bottlenecks and joins what all of them gave.
func (y yolo) c2f(x model.Value, in, out, count int, shortcut bool) model.Value {
	half := out / 2
	parts := y.Split(y.conv(x, in, out, 1, 1), 1, half, half)
	for range count {
		last := parts[len(parts)-1]
		z := y.conv(y.conv(last, half, half, 3, 1), half, half, 3, 1)
		if shortcut {
			z = y.Do("Add", last, z)
		}
		parts = append(parts, z)
	}
	return y.conv(y.Concat(1, parts...), (2+count)*half, out, 1, 1)
}

// pyramid pools three times in a row and joins the results.
func (y yolo) pyramid(x model.Value, channels int) model.Value {
	parts := []model.Value{y.conv(x, channels, channels/2, 1, 1)}
	for range 3 {
		parts = append(parts, y.MaxPool(parts[len(parts)-1], model.Square(5)))
	}
	return y.conv(y.Concat(1, parts...), 2*channels, channels, 1, 1)
}

// yoloV8n detects objects of 80 classes in an image of 640x640: boxes and scores of 8400 places.
func yoloV8n(b *model.Builder) {
	y := yolo{b}
	x := y.conv(y.conv(b.Input(1, 3, 640, 640), 3, 16, 3, 2), 16, 32, 3, 2)
	p3 := y.c2f(y.conv(y.c2f(x, 32, 32, 1, true), 32, 64, 3, 2), 64, 64, 2, true)
	p4 := y.c2f(y.conv(p3, 64, 128, 3, 2), 128, 128, 2, true)
	p5 := y.pyramid(y.c2f(y.conv(p4, 128, 256, 3, 2), 256, 256, 1, true), 256)
	n4 := y.c2f(b.Concat(1, b.Double(p5, "nearest"), p4), 384, 128, 1, false)
	n3 := y.c2f(b.Concat(1, b.Double(n4, "nearest"), p3), 192, 64, 1, false)
	n4 = y.c2f(b.Concat(1, y.conv(n3, 64, 64, 3, 2), n4), 192, 128, 1, false)
	n5 := y.c2f(b.Concat(1, y.conv(n4, 128, 128, 3, 2), p5), 384, 256, 1, false)
	y.detect([]model.Value{n3, n4, n5}, []int{64, 128, 256}, []int{80, 40, 20})
}

// detect gives boxes as centres and sizes in pixels, from distributions over 16 distances to each side, and scores.
func (y yolo) detect(maps []model.Value, channels, sizes []int) {
	const bins, classes, places = 16, 80, 80*80 + 40*40 + 20*20
	var all []model.Value
	for i, x := range maps {
		c, wide, square := channels[i], 80, model.Square(1)
		box := y.ConvBias(y.conv(y.conv(x, c, 64, 3, 1), 64, 64, 3, 1), 64, 4*bins, square)
		score := y.ConvBias(y.conv(y.conv(x, c, wide, 3, 1), wide, wide, 3, 1), wide, classes, square)
		all = append(all, y.Reshape(y.Concat(1, box, score), 1, 4*bins+classes, sizes[i]*sizes[i]))
	}
	parts := y.Split(y.Concat(2, all...), 1, 4*bins, classes)
	d := y.Transpose(y.Reshape(parts[0], 1, 4, bins, places), 0, 2, 1, 3)
	d = y.Conv(y.Op("Softmax", []model.Value{d}, model.At("axis", 1)), bins, 1, model.Square(1))
	sides := y.Split(y.Reshape(d, 1, 4, places), 1, 2, 2)
	anchors, strides := grid(sizes, places)
	at := y.Constant(anchors)
	low, high := y.Do("Sub", at, sides[0]), y.Do("Add", at, sides[1])
	centre := y.Do("Div", y.Do("Add", low, high), y.Number(2))
	boxes := y.Do("Mul", y.Concat(1, centre, y.Do("Sub", high, low)), y.Constant(strides))
	y.Output(y.Concat(1, boxes, y.Do("Sigmoid", parts[1])))
}

// grid is the middles of all places, in units of their map, and the pixels per unit.
func grid(sizes []int, places int) (anchors, strides *tensor.Tensor) {
	at, stride := make([]float32, 2*places), make([]float32, places)
	i := 0
	for _, size := range sizes {
		for k := range size * size {
			at[i], at[places+i] = float32(k%size)+0.5, float32(k/size)+0.5
			stride[i] = float32(640 / size)
			i++
		}
	}
	return tensor.Of([]int{1, 2, places}, at), tensor.Of([]int{1, 1, places}, stride)
}
