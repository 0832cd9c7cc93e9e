package darknet

import (
	"fmt"
	"math"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

func evaluate(t *testing.T, text string, weights []float32, x *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	m, err := Read([]byte(text), weightsWith(weights...))
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func check(t *testing.T, what string, got *tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%s: %v has %d elements instead of %d", what, got.Shape, got.Len(), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(got.Float(i) - w); !(d <= 3e-6*math.Max(1, math.Abs(w))) {
			t.Errorf("%s: element %d is %v instead of %v", what, i, got.Float(i), w)
			return
		}
	}
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// Recurrent layers of two units over three steps, unit by unit.
func TestRecurrent(t *testing.T) {
	const units, steps = 2, 3
	x := []float64{0.5, -1, 2}
	type matrix struct{ b, w []float32 }
	for kind, sizes := range map[string][]int{"gru": {2, 2, 2, 1, 1, 1}, "lstm": {2, 2, 2, 2, 1, 1, 1, 1}, "rnn": {1, 2, 2}} {
		var weights []float32
		var list []matrix
		for k, in := range sizes {
			m := matrix{}
			for i := range units {
				m.b = append(m.b, float32(math.Sin(float64(k*7+i+1)))/2)
			}
			for i := range units * in {
				m.w = append(m.w, float32(math.Cos(float64(k*5+i*3+1))))
			}
			list = append(list, m)
			weights = append(append(weights, m.b...), m.w...)
		}
		apply := func(k int, in []float64) []float64 {
			out := make([]float64, units)
			for u := range out {
				out[u] = float64(list[k].b[u])
				for i, v := range in {
					out[u] += v * float64(list[k].w[u*len(in)+i])
				}
			}
			return out
		}
		h, c := make([]float64, units), make([]float64, units)
		var want []float64
		for _, v := range x {
			in := []float64{v}
			next := make([]float64, units)
			switch kind {
			case "gru": // wz wr wh uz ur uh
				z, r, wz, wr := apply(3, in), apply(4, in), apply(0, h), apply(1, h)
				forgot := make([]float64, units)
				for u := range h {
					z[u] = sigmoid(z[u] + wz[u])
					forgot[u] = sigmoid(r[u]+wr[u]) * h[u]
				}
				a, b := apply(5, in), apply(2, forgot)
				for u := range h {
					next[u] = z[u]*h[u] + (1-z[u])*math.Tanh(a[u]+b[u])
				}
				h = next
				want = append(want, h...)
			case "lstm": // wi wf wo wg ui uf uo ug
				for u := range h {
					gate := func(k int) float64 { return apply(k, h)[u] + apply(4+k, in)[u] }
					c[u] = sigmoid(gate(1))*c[u] + sigmoid(gate(0))*math.Tanh(gate(3))
					next[u] = sigmoid(gate(2)) * math.Tanh(c[u])
				}
				h = next
				want = append(want, h...)
			case "rnn":
				a, b := apply(0, in), apply(1, h)
				for u := range h {
					next[u] = math.Tanh(a[u]) + math.Tanh(b[u])
				}
				h = next
				for _, v := range apply(2, h) {
					want = append(want, math.Tanh(v))
				}
			}
		}
		options := ""
		switch kind {
		case "gru":
			options = "tanh=1\n"
		case "rnn":
			options = "hidden=2\nactivation=tanh\n"
		}
		text := fmt.Sprintf("[net]\ninputs=1\ntime_steps=%d\n[%s]\noutput=%d\n%s", steps, kind, units, options)
		check(t, kind, evaluate(t, text, weights, tensor.Of([]int{steps, 1, 1, 1}, []float32{0.5, -1, 2})), want...)
	}
}

const picture = "[net]\nwidth=2\nheight=2\nchannels=%d\n"

// Layers whose results are found by hand.
func TestRows(t *testing.T) {
	one := tensor.Of([]int{1, 1, 2, 2}, []float32{1, 2, 3, 4})
	four := tensor.Of([]int{1, 4, 2, 2}, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	for _, c := range []struct {
		text    string
		x       *tensor.Tensor
		weights []float32
		want    []float64
	}{
		{"[reorg]\nstride=2\n", four, nil, []float64{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}},
		{"[softmax]\ngroups=2\n", tensor.Of([]int{1, 1, 2, 2}, []float32{0, float32(math.Log(3)), 0, 0}), nil, []float64{0.25, 0.75, 0.5, 0.5}},
		{"[batchnorm]\n", tensor.Of([]int{1, 1, 2, 2}, []float32{1, 3, 5, 7}), []float32{10, 2, 1, 4}, []float64{10, 12, 14, 16}},
		{"[activation]\nactivation=plse\n", tensor.Of([]int{1, 1, 2, 2}, []float32{-5, 0, 4, 5}), nil, []float64{-0.01, 0.5, 1, 1.01}},
		{"[activation]\nactivation=ramp\n", tensor.Of([]int{1, 1, 2, 2}, []float32{-1, 0, 1, 2}), nil, []float64{-0.1, 0, 1.1, 2.2}},
		{"[l2norm]\n", tensor.Of([]int{1, 1, 2, 2}, []float32{1, 3, -5, 7}), nil, []float64{1, 1, -1, 1}},
	} {
		check(t, c.text, evaluate(t, fmt.Sprintf(picture, c.x.Shape[1])+c.text, c.weights, c.x), c.want...)
	}
	// A layer that is smaller and has fewer channels falls on every other pixel.
	small := "[maxpool]\nsize=2\nstride=2\npadding=0\n[route]\nlayers=-1\ngroups=2\ngroup_id=1\n[upsample]\nstride=2\n[shortcut]\nfrom=-2\nactivation=linear\n"
	x := tensor.Of([]int{1, 2, 2, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	check(t, "smaller", evaluate(t, fmt.Sprintf(picture, 2)+small, nil, x), 16, 8, 8, 8)
	// Each channel by its mean.
	check(t, "scale_channels", evaluate(t, fmt.Sprintf(picture, 1)+"[avgpool]\n[scale_channels]\nfrom=0\n", nil, one), 6.25)
	check(t, "sam", evaluate(t, fmt.Sprintf(picture, 1)+"[activation]\nactivation=linear\n[activation]\nactivation=relu\n[sam]\nfrom=-2\n", nil, one), 1, 4, 9, 16)
}

// Scaled-YOLOv4 has activated maps.
func TestNewCoordinates(t *testing.T) {
	head := "[net]\nwidth=1\nheight=1\nchannels=6\n[yolo]\nclasses=1\nanchors=3,4\nmask=0\nnum=1\nscale_x_y=2\nnew_coords=1\n"
	x := tensor.Of([]int{1, 6, 1, 1}, []float32{0.5, 0.75, 0.5, 1, 0.9, 0.5})
	check(t, "yolo", evaluate(t, head, nil, x), 0.5, 1, 3, 16, 0.9, 0.45)
}
