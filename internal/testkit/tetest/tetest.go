// Package tetest makes small random tensor expressions with their values and runs kernels lowered from them in the loop
// interpreter. It is for tests of lowering, schedules, loop passes and code generation only.
//
// Operands are small integers, in floats too, so that every order of summation gives the same result and
// results are compared exactly.
package tetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/lower"
	"lathe/internal/te"
	"lathe/internal/te/teinterp"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Case is a computation, the values of its inputs by name, and its result.
type Case struct {
	Name   string
	Out    *te.Stage
	Inputs []*te.Stage
	Values map[string]*tensor.Tensor
	Want   *tensor.Tensor
}

// Kinds lists the families of computations that New makes.
func Kinds() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

// New makes a random computation of a family with random layouts and types. It panics when tensor expressions cannot be
// evaluated: that is a fault of this package.
func New(r *rand.Rand, kind string) *Case {
	i := slices.IndexFunc(families, func(f family) bool { return f.name == kind })
	d := &draw{r, &Case{Name: kind, Values: map[string]*tensor.Tensor{}}}
	out := families[i].make(d)
	if len(out.Reduce) == 0 || d.coin(2) {
		out = d.epilogue(out)
	}
	out.Type.Layout = d.layout(out.Type.Shape)
	d.Out = out
	return d.finish()
}

// Of makes the case of a given computation with random operands.
func Of(r *rand.Rand, name string, out *te.Stage) *Case {
	d := &draw{r, &Case{Name: name, Out: out, Values: map[string]*tensor.Tensor{}}}
	for _, s := range te.Order(out) {
		if s.Body == nil {
			d.Inputs = append(d.Inputs, s)
			d.Values[s.Name] = d.values(s.Type)
		}
	}
	return d.finish()
}

func (d *draw) finish() *Case {
	in := map[*te.Stage]*tensor.Tensor{}
	for _, s := range d.Inputs {
		in[s] = d.Values[s.Name]
	}
	want, err := teinterp.Run([]*te.Stage{d.Out}, in)
	if err != nil {
		panic(fmt.Sprintf("tetest: %s: %v\n%s", d.Name, err, te.String(d.Out)))
	}
	d.Want = want[0]
	return d.Case
}

// Lower makes the case's kernel.
func (c *Case) Lower() *lower.Kernel { return lower.Lower("kernel", c.Out, lower.Options{}) }

// Args are the arguments of k's function: packed operands, and a result full of a pattern.
func (c *Case) Args(k *lower.Kernel) ([]*tensor.Tensor, error) {
	layouts := map[string]types.Layout{}
	for _, s := range c.Inputs {
		layouts[s.Name] = s.Type.Layout
	}
	args := make([]*tensor.Tensor, len(k.Params))
	for i, p := range k.Params[:len(k.Params)-1] {
		v := c.Values[p.Name]
		if v == nil {
			return nil, fmt.Errorf("no operand is named %s", p.Name)
		}
		args[i] = Pack(v, layouts[p.Name])
	}
	out := Pack(tensor.NewOf(c.Out.Type), c.Out.Type.Layout)
	for i := range out.Bytes() {
		out.Bytes()[i] = 0x5a
	}
	args[len(args)-1] = out
	return args, nil
}

// Compare says how the packed result differs from the expected one. Lanes beyond the logical extent must be zero; zeros
// of either sign are equal, for the sum of no guarded values and that of one negative zero differ by it.
func (c *Case) Compare(got *tensor.Tensor) error {
	want := Pack(c.Want, c.Out.Type.Layout)
	n, first := 0, -1
	for i := range want.Len() {
		if same(want, got, i) {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements differ; element %d is %v instead of %v", n, want.Len(), first, got.Float(first), want.Float(first))
}

func same(want, got *tensor.Tensor, i int) bool {
	if want.DType.IsFloat() {
		return want.Float(i) == got.Float(i)
	}
	return want.Int(i) == got.Int(i)
}

// Check interprets f, a form of k's function, and compares its result.
func (c *Case) Check(k *lower.Kernel, f *loop.Func, workers int) error {
	args, err := c.Args(k)
	if err != nil {
		return err
	}
	if err := interp.Run(f, args, workers); err != nil {
		return err
	}
	return c.Compare(args[len(args)-1])
}

// Pack brings a tensor into a layout: the result has the physical shape, with zeros in the lanes beyond.
func Pack(t *tensor.Tensor, l types.Layout) *tensor.Tensor {
	parts, dims := l.Parts(len(t.Shape)), l.Dims(t.Shape)
	out := tensor.New(t.DType, dims...)
	size := t.DType.Size()
	at := make([]int, len(dims))
	for i := range out.Len() {
		for k, x := len(dims)-1, i; k >= 0; k-- {
			at[k] = x % dims[k]
			x /= dims[k]
		}
		logical := make([]int, len(t.Shape))
		for k, p := range parts {
			if p.Block > 0 && !p.Inner {
				logical[p.Axis] += at[k] * p.Block
			} else {
				logical[p.Axis] += at[k]
			}
		}
		from, inside := 0, true
		for k, x := range logical {
			from = from*t.Shape[k] + x
			inside = inside && x < t.Shape[k]
		}
		if inside {
			if t.DType.IsNibble() {
				out.SetInt(i, t.Int(from))
				continue
			}
			copy(out.Bytes()[i*size:(i+1)*size], t.Bytes()[from*size:])
		}
	}
	return out
}
