package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// A diffuser writes the blocks that the networks of diffusers share, as PyTorch's exporter spells them. Divisions by 1 are those of the
// scales that are configured there.
type diffuser struct {
	exporter
	time, text model.Value // what blocks of the UNet see beside the image
	wide       int         // numbers of time
}

// one divides by one.
func (d diffuser) one(x model.Value) model.Value { return d.Do("Div", x, d.Number(1)) }

// norm is group normalisation in 32 groups of what has channels at axis 1 and some axes behind.
func (d diffuser) norm(x model.Value, channels, axes int) model.Value {
	const groups = 32
	shape := []int{channels, 1, 1}[:1+axes]
	y := d.Reshape(x, 0, groups, -1)
	one, zero := d.Constant(d.Uniform(1, 1, groups)), d.Constant(d.Uniform(0, 0, groups))
	y = d.Op("InstanceNormalization", []model.Value{y, one, zero}, model.At("epsilon", 1e-6))
	y = d.Do("Reshape", y, d.Do("Shape", x))
	return d.add(d.mul(y, d.Scale(shape...)), d.Weight(0.1, shape...))
}

// residual is two convolutions; the first one's result is moved by the time, if there is one.
func (d diffuser) residual(x model.Value, in, out int) model.Value {
	y := d.conv(d.SiLU(d.norm(x, in, 2)), in, out, 3, 1, 1)
	if d.time != model.Absent {
		t := d.Dense(d.SiLU(d.time), d.wide, out)
		y = d.add(y, d.Do("Unsqueeze", d.Do("Unsqueeze", t, d.Ints(2)), d.Ints(3)))
	}
	y = d.conv(d.SiLU(d.norm(y, out, 2)), out, out, 3, 1, 1)
	if in != out {
		x = d.conv(x, in, out, 1, 1, 1)
	}
	return d.one(d.add(x, y))
}

// attend is attention of x over y, whose rows have the given width, without the layer behind it: scaled_dot_product_attention with
// both operands times the root of a scale that is computed from the shape.
func (d diffuser) attend(x, y model.Value, heads, size, width int, linear func(x model.Value, in, out int) model.Value) model.Value {
	wide := heads * size
	split := func(v model.Value, perm ...int) model.Value {
		return d.Transpose(d.view(v, -100, -1, heads, size), perm...)
	}
	q := split(linear(x, wide, wide), 0, 2, 1, 3)
	k := split(linear(y, width, wide), 0, 2, 3, 1)
	v := split(linear(y, width, wide), 0, 2, 1, 3)
	last := d.Do("Slice", d.Do("Shape", q), d.Ints(-1), d.Ints(math.MaxInt64))
	extent := d.Op("Cast", []model.Value{last}, model.At("to", 1))
	scale := d.Do("Div", d.Number(1), d.Do("Sqrt", extent))
	s := d.Do("MatMul", d.mul(q, d.Do("Sqrt", scale)), d.mul(k, d.Do("Sqrt", scale)))
	z := d.Do("MatMul", d.softmax(s, -1), v)
	return d.view(d.Transpose(z, 0, 2, 1, 3), -100, -1, wide)
}

// plain is a linear layer without a bias.
func (d diffuser) plain(x model.Value, in, out int) model.Value {
	return d.Do("MatMul", x, d.Weight(1/math.Sqrt(float64(in)), in, out))
}

// half is part 0 or 1 of the last axis, as the exporter writes chunk: with bounds that are computed from the shape.
func (d diffuser) half(x, bound model.Value, part int) model.Value {
	from, to := d.Ints(0), d.mul(bound, d.Ints(1))
	if part == 1 {
		from, to = to, d.mul(bound, d.Ints(2))
	}
	return d.Do("Slice", x, from, to, d.Ints(-1))
}

// geglu is the layer of two halves, of which one is the other's gate, and the layer behind it.
func (d diffuser) geglu(x model.Value, c int) model.Value {
	x = d.Linear(x, c, 8*c)
	extent := d.Op("Gather", []model.Value{d.Do("Shape", x), d.Ints(-1)}, model.At("axis", 0))
	bound := d.Do("Div", d.add(extent, d.Ints(1)), d.Ints(2))
	y := d.mul(d.half(x, bound, 0), d.GELU(d.half(x, bound, 1)))
	return d.Linear(y, 4*c, c)
}

// spatial is a transformer over the places of an image, which looks at the text as well.
func (d diffuser) spatial(x model.Value, c int) model.Value {
	const heads, words = 8, 768
	y := d.Transpose(d.conv(d.norm(x, c, 2), c, c, 1, 1, 1), 0, 2, 3, 1)
	y = d.Do("Reshape", y, d.Concat(0, d.dim(x, 0), d.mul(d.dim(x, 2), d.dim(x, 3)), d.Ints(c)))
	z := d.ln(y, c)
	y = d.add(d.one(d.Linear(d.attend(z, z, heads, c/heads, c, d.plain), c, c)), y)
	z = d.ln(y, c)
	y = d.add(d.one(d.Linear(d.attend(z, d.text, heads, c/heads, words, d.plain), c, c)), y)
	y = d.add(d.geglu(d.ln(y, c), c), y)
	y = d.Do("Reshape", y, d.Concat(0, d.dim(x, 0), d.dim(x, 2), d.dim(x, 3), d.Ints(c)))
	return d.add(d.conv(d.Transpose(y, 0, 3, 1, 2), c, c, 1, 1, 1), x)
}

// moment is a step of time as waves and two layers over them.
func (d diffuser) moment(step, image model.Value, c int) model.Value {
	waves := make([]float32, c/2)
	for i := range waves {
		waves[i] = float32(math.Pow(10000, -2*float64(i)/float64(c)))
	}
	t := d.Do("Expand", step, d.dim(image, 0))
	t = d.Op("Cast", []model.Value{d.Do("Unsqueeze", t, d.Ints(1))}, model.At("to", 1))
	t = d.mul(t, d.Constant(tensor.Of([]int{1, c / 2}, waves)))
	t = d.Concat(-1, d.Do("Sin", t), d.Do("Cos", t))
	t = d.Concat(-1, d.Slice(t, 1, c/2, math.MaxInt64, 1), d.Slice(t, 1, 0, c/2, 1))
	return d.Dense(d.SiLU(d.Dense(t, c, 4*c)), 4*c, 4*c)
}

// sdUNet is the network of Stable Diffusion 1.5 (Rombach et al. 2022; UNet2DConditionModel of huggingface/diffusers) with two fifths of its
// channels, on latents of 32x32 with a text of 77 words.
func sdUNet(b exporter) {
	const c = 128 // of 320
	x := b.Input(1, 4, 32, 32)
	d := diffuser{exporter: b, wide: 4 * c}
	d.time = d.moment(b.InputOf(tensor.Of([]int{1}, []int64{501})), x, c)
	d.text = b.Input(1, 77, 768)
	x, skips, in := d.down(b.conv(x, 4, c, 3, 1, 1), c)
	x = d.residual(d.spatial(d.residual(x, in, in), in), in, in)
	for i, times := range []int{4, 4, 2, 1} {
		for range 3 {
			s := skips[len(skips)-1]
			skips = skips[:len(skips)-1]
			x, in = d.residual(b.Concat(1, x, s.Value), in+s.channels, times*c), times*c
			if i > 0 {
				x = d.spatial(x, in)
			}
		}
		if i < 3 {
			x = b.conv(b.Double(x, "nearest"), in, in, 3, 1, 1)
		}
	}
	b.Output(b.conv(b.SiLU(d.norm(x, c, 2)), c, 4, 3, 1, 1))
}

// A skip is an image that the way up joins.
type skip struct {
	model.Value
	channels int
}

// down is the way to an eighth of the size, with the images along it and the last one's channels.
func (d diffuser) down(x model.Value, c int) (model.Value, []skip, int) {
	skips, in := []skip{{x, c}}, c
	for i, times := range []int{1, 2, 4, 4} {
		for range 2 {
			x, in = d.residual(x, in, times*c), times*c
			if i < 3 {
				x = d.spatial(x, in)
			}
			skips = append(skips, skip{x, in})
		}
		if i < 3 {
			x = d.conv(x, in, in, 3, 2, 1)
			skips = append(skips, skip{x, in})
		}
	}
	return x, skips, in
}

// vaeDecoder makes an image of 128x128 of latents of 16x16: the decoder of Stable Diffusion 1.5 (AutoencoderKL of huggingface/diffusers)
// with half of its channels.
func vaeDecoder(b exporter) {
	const c = 64 // of 128
	d, in := diffuser{exporter: b}, 4*c
	x := b.conv(b.conv(b.Input(1, 4, 16, 16), 4, 4, 1, 1, 1), 4, in, 3, 1, 1)
	x = d.residual(d.places(d.residual(x, in, in), in), in, in)
	for i, times := range []int{4, 4, 2, 1} {
		for range 3 {
			x, in = d.residual(x, in, times*c), times*c
		}
		if i < 3 {
			x = b.conv(b.Double(x, "nearest"), in, in, 3, 1, 1)
		}
	}
	b.Output(b.conv(b.SiLU(d.norm(x, c, 2)), c, 3, 3, 1, 1))
}

// places is attention of one head over the places of an image.
func (d diffuser) places(x model.Value, c int) model.Value {
	y := d.Do("Reshape", x, d.Concat(0, d.dim(x, 0), d.dim(x, 1), d.mul(d.dim(x, 2), d.dim(x, 3))))
	y = d.Transpose(d.norm(y, c, 1), 0, 2, 1)
	y = d.Linear(d.attend(y, y, 1, c, c, d.Linear), c, c)
	y = d.like(d.Transpose(y, 0, 2, 1), x)
	return d.one(d.add(y, x))
}

// like gives y the shape of x by its extents.
func (d diffuser) like(y, x model.Value) model.Value {
	return d.Do("Reshape", y, d.Concat(0, d.dim(x, 0), d.dim(x, 1), d.dim(x, 2), d.dim(x, 3)))
}
