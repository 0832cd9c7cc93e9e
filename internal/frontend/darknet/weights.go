package darknet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// take reads the weights of a layer of so many outputs: biases; scales, means and variances where it normalizes; and the
// weights themselves, which connected layers have in second place. Operands of the node are weights, biases, scales, means, variances.
func (b *builder) take(n *frontend.Node, normalize, connected bool, outputs int, dims ...int) error {
	params := []string{"weights", "biases"}
	vectors := []string{"scales", "means", "variances"}
	order := []string{"biases"}
	switch {
	case connected && normalize:
		order = slices.Concat(order, []string{"weights"}, vectors)
	case normalize:
		order = slices.Concat(order, vectors, []string{"weights"})
	default:
		order = append(order, "weights")
	}
	if normalize {
		params = append(params, vectors...)
	}
	for _, part := range order {
		s := []int{outputs}
		if part == "weights" {
			s = dims
		}
		if err := b.param(n.Name+"/"+part, s); err != nil {
			return err
		}
	}
	for _, part := range params {
		n.In = append(n.In, n.Name+"/"+part)
	}
	return nil
}

// param is the next array of the file as a constant; of a network without weights, one that is made up.
func (b *builder) param(name string, dims []int) error {
	t := types.Of(types.F32, dims...)
	if err := t.Check(); err != nil {
		return err
	}
	if b.weights == nil {
		b.g.Params = append(b.g.Params, frontend.MadeUp(name, t))
		return nil
	}
	if t.Bytes() > len(b.weights)-b.at {
		return fmt.Errorf("the .weights file ends within its %s: cut short, or of another network", name[1+strings.LastIndexByte(name, '/'):])
	}
	x, err := tensor.Wrap(t.DType, dims, b.weights[b.at:b.at+t.Bytes()])
	if err != nil {
		return err
	}
	b.at += t.Bytes()
	b.g.Params = append(b.g.Params, frontend.Constant(name, x))
	return nil
}

// vectors reads arrays of one number for each channel, and makes them operands.
func (b *builder) vectors(n *frontend.Node, channels int, parts ...string) error {
	for _, part := range parts {
		if err := b.param(n.Name+"/"+part, []int{channels}); err != nil {
			return err
		}
		n.In = append(n.In, n.Name+"/"+part)
	}
	return nil
}

// parts are the connected layers that a recurrent one consists of, in the order of the file: of the state (w) and of the input (u), but for rnn.
var parts = map[string][]string{"rnn": {"input", "self", "output"}, "gru": {"wz", "wr", "wh", "uz", "ur", "uh"}, "lstm": {"wi", "wf", "wo", "wg", "ui", "uf", "uo", "ug"}}

// recurrent reads the connected layers of a recurrent one.
func (b *builder) recurrent(n *frontend.Node, o options, kind string, in shape) (shape, error) {
	outputs, inputs := o.int("output", 1), in.c*in.h*in.w
	hidden := outputs
	if kind == "rnn" {
		hidden = o.int("hidden", outputs)
	}
	if b.steps == 0 {
		return in, errors.New("the network is of pictures; [net] gives no inputs and time_steps")
	}
	if min(outputs, hidden) < 1 || max(outputs, hidden) > maxExtent || inputs > 1<<30 {
		return in, fmt.Errorf("%d outputs of %d inputs", outputs, inputs)
	}
	for _, part := range parts[kind] {
		from, to := hidden, hidden
		if part == "input" || part[0] == 'u' {
			from = inputs
		}
		if part == "output" {
			to = outputs
		}
		sub := &frontend.Node{Name: n.Name + "/" + part}
		if err := b.take(sub, o.int("batch_normalize", 0) != 0, true, to, to, from); err != nil {
			return in, err
		}
		n.In = append(n.In, sub.In...)
	}
	return shape{outputs, 1, 1}, nil
}

// shortcut adds layers, of whose maps it takes what both have: pixels at the step by which one is greater, and channels.
func (b *builder) shortcut(n *frontend.Node, o options, i int, in shape) (shape, error) {
	from, err := b.refer(i, o.ints("from"))
	if err != nil {
		return in, err
	}
	for _, k := range from {
		s := b.layers[k]
		fits := func(a, b int) bool { return max(a, b)%min(a, b) == 0 }
		if s != in && (len(from) > 1 || !fits(s.h, in.h) || !fits(s.w, in.w) || max(s.w, in.w)/min(s.w, in.w) != max(s.h, in.h)/min(s.h, in.h)) {
			return in, fmt.Errorf("layers of %d x %d and %d x %d", in.h, in.w, s.h, s.w)
		}
		n.In = append(n.In, b.name(k))
	}
	return in, nil
}

// scaled multiplies a layer, of the shape of the result, by this one: element by element, or channel by channel.
func (b *builder) scaled(n *frontend.Node, o options, i int, in shape) (shape, error) {
	from, err := b.refer(i, o.ints("from"))
	if err != nil {
		return in, err
	}
	out := b.layers[from[0]]
	if len(from) != 1 || o.int("scale_wh", 0) != 0 || out.c != in.c || in.h != 1 && in.h != out.h || in.w != 1 && in.w != out.w {
		return in, fmt.Errorf("a layer of %d channels of %d x %d by one of %d of %d x %d", out.c, out.h, out.w, in.c, in.h, in.w)
	}
	n.In = append(n.In, b.name(from[0]))
	return out, nil
}
