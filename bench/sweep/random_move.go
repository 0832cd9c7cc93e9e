package sweep

import (
	"fmt"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func (d dice) pool() Case {
	for {
		axes := pick(d, 1, 2, 2, 2, 3)
		in := shape{d.batch(), d.size(1, 512)}
		w := model.Window{Stride: pick(d, 1, 2, 2, 3), Pads: make([]int, 2*axes)}
		kernel := pick(d, 2, 3, 3, 3, 4, 5, 7, 9)
		places := in[0] * in[1]
		fits := true
		for i := range axes {
			in = append(in, d.size(2, []int{4000, 160, 24}[axes-1]))
			if d.chance(15) {
				kernel = pick(d, 1, 2, 3, 5)
			}
			w.Kernel = append(w.Kernel, kernel)
			if d.chance(60) {
				w.Pads[i], w.Pads[axes+i] = kernel/2, kernel/2
			}
			n := in[2+i] + 2*w.Pads[i] - kernel
			fits = fits && n >= 0
			places *= n/w.Stride + 1
		}
		if !fits || elements(in) > mostElements || places > mostElements || elements(in) < 500 {
			continue
		}
		how := pick(d, "MaxPool", "MaxPool", "AveragePool", "counted", "ceil")
		return named(how+"_"+spelled(w), []any{in}, func(b *model.Builder) model.Value {
			x := b.Input(in...)
			switch how {
			case "counted":
				return b.AveragePool(x, w)
			case "ceil":
				return b.Op("MaxPool", []model.Value{x}, append(w.Attrs(), at("ceil_mode", 1))...)
			}
			return b.Op(how, []model.Value{x}, w.Attrs()...)
		})
	}
}

func (d dice) resize() Case {
	for {
		in := shape{d.batch(), d.size(1, 256), d.size(2, 160), d.size(2, 160)}
		h, w := d.size(2, 320), d.size(2, 320)
		if d.chance(50) {
			factor := pick(d, 2, 2, 3, 4)
			h, w = in[2]*factor, in[3]*factor
		}
		if elements(in) > mostElements || in[0]*in[1]*h*w > mostElements {
			continue
		}
		how := pick(d, "nearest", "linear", "linear", "corners", "cubic")
		attrs := map[string][]model.Attr{"nearest": nearest, "linear": linear, "corners": corners, "cubic": cubic}[how]
		return named(how, []any{in, shape{h, w}}, func(b *model.Builder) model.Value {
			return b.Op("Resize", []model.Value{b.Input(in...), model.Absent, model.Absent, b.Ints(in[0], in[1], h, w)}, attrs...)
		})
	}
}

func (d dice) transpose() Case {
	s := d.shape(2+d.IntN(4), mostElements)
	perm := d.Perm(len(s))
	name := "perm"
	for _, p := range perm {
		name += fmt.Sprint(p)
	}
	return named(name, []any{s}, func(b *model.Builder) model.Value { return b.Transpose(b.Input(s...), perm...) })
}

func (d dice) move() Case {
	s := d.shape(1+d.IntN(4), mostElements/2)
	axis := d.IntN(len(s))
	switch kind := pick(d, "concat", "concat", "slice", "slice", "pad", "tile", "split"); kind {
	case "concat":
		sizes := []int{s[axis], d.size(1, 2*s[axis]+1), d.size(1, s[axis]+1)}[:2+d.IntN(2)]
		var list []shape
		for _, n := range sizes {
			p := append(shape{}, s...)
			p[axis] = n
			list = append(list, p)
		}
		return named(fmt.Sprintf("concat%d", axis), []any{s, shape(sizes)}, func(b *model.Builder) model.Value {
			return b.Concat(axis, inputs(b, list)...)
		})
	case "slice":
		step := pick(d, 1, 1, 2, 3, -1)
		from, to := d.IntN(max(1, s[axis]/3)), s[axis]-d.IntN(max(1, s[axis]/3))
		if step < 0 {
			from, to = -1, -1000000
		}
		return named(fmt.Sprintf("slice%d_%d.%d.%d", axis, from, to, step), []any{s}, func(b *model.Builder) model.Value {
			return b.Slice(b.Input(s...), axis, from, to, step)
		})
	case "pad":
		mode := pick(d, "constant", "reflect", "edge")
		pads := make([]int, 2*len(s))
		for i := range pads {
			if s[i%len(s)] > 3 {
				pads[i] = d.IntN(4)
			}
		}
		return named("pad_"+mode, []any{s, shape(pads)}, func(b *model.Builder) model.Value {
			return b.Op("Pad", []model.Value{b.Input(s...), b.Ints(pads...)}, at("mode", mode))
		})
	case "tile":
		times := make([]int, len(s))
		for i := range times {
			times[i] = pick(d, 1, 1, 2, 3)
		}
		s = shrunk(s, mostElements/elements(times))
		return named(kind, []any{s, shape(times)}, func(b *model.Builder) model.Value { return b.Do("Tile", b.Input(s...), b.Ints(times...)) })
	default:
		s[axis] *= 2
		return named(fmt.Sprintf("split%d", axis), []any{s}, func(b *model.Builder) model.Value {
			parts := b.Split(b.Input(s...), axis, s[axis]/2, s[axis]/2)
			return b.Do("Mul", parts[0], b.Do("Sigmoid", parts[1]))
		})
	}
}

func (d dice) index() Case {
	s := d.shape(2+d.IntN(2), mostElements/2)
	axis := d.IntN(len(s))
	switch kind := pick(d, "topk", "argmax", "gather", "cumsum", "gatherelements", "onehot"); kind {
	case "topk":
		return topK(fmt.Sprintf("topk%d_%s", axis, joined(s)), s, axis, d.size(1, s[axis]))
	case "argmax":
		return place(fmt.Sprintf("argmax%d_%s", axis, joined(s)), "ArgMax", s, axis)
	case "gather":
		n := d.size(1, 1000)
		s = shrunk(s, max(1, mostElements/n))
		return taken(fmt.Sprintf("gather%d_%s_%d", axis, joined(s), n), s, axis, n)
	case "cumsum":
		return running(fmt.Sprintf("cumsum%d_%s", axis, joined(s)), s, axis)
	case "gatherelements":
		return named(fmt.Sprintf("gatherelements%d", axis), []any{s}, func(b *model.Builder) model.Value {
			return b.Op("GatherElements", []model.Value{b.Input(s...), b.Indices(s[axis], s...)}, at("axis", axis))
		})
	default:
		n, depth := d.size(1, 2000), d.size(2, 1000)
		return row(fmt.Sprintf("onehot_%d_%d", n, depth), func(b *model.Builder) model.Value {
			return b.Op("OneHot", []model.Value{b.Indices(depth, n), b.Constant(tensor.Of([]int{1}, []int64{int64(depth)})), b.Constant(tensor.New(types.F32, 2))}, at("axis", -1))
		})
	}
}
