package ops

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
)

// bound are the operators with an attribute that names axes whose meaning is bound to the order of axes, and why.
var bound = map[string]string{
	"compress":         "its extent depends on data, and belongs to an axis by its place",
	"dynamic.pack":     "likewise",
	"gather":           "the axes of the indices stand among those of the data",
	"nn.layer_norm":    "the axes from one to the last belong together",
	"nn.rms_norm":      "likewise",
	"one_hot":          "adds an axis",
	"reverse_sequence": "its lengths are along another axis",
	"scatter_elements": "of updates of one element the last in the order of axes counts",
	"take":             "the axes of the indices stand among those of the data",
	"tensor_scatter":   "its indices are along the first axis",
	"transpose":        "it is the order of axes",
}

// TestAxes holds what operators declare to their reference: on random uses, with operands transposed into a random order and
// the attributes that Axes gives, the results are the same, transposed.
func TestAxes(t *testing.T) {
	for _, d := range All {
		if d.Axes == nil {
			continue
		}
		asked := 0
		for seed := range uint64(200) {
			r := rand.New(rand.NewPCG(seed, 23))
			attrs, in := d.Sample(r)
			u := use{d, attrs, in}
			a := d.Axes(attrs, in)
			if a == nil || a.Rank < 2 {
				continue
			}
			order := r.Perm(a.Rank)
			if a.Drops != nil && !a.KeepsRest(order) {
				continue
			}
			asked++
			if err := reorders(u, a, order, u.operands(r, moderate)); err != nil {
				t.Fatalf("seed %d: %s, order %v: %v", seed, u, order, err)
			}
		}
		if asked < 20 {
			t.Errorf("%s: only %d uses have axes in another order", d.Name, asked)
		}
	}
}

// reorders says how the results of u differ from those with its axes in the given order.
func reorders(u use, a *op.Axes, order []int, vals []*tensor.Tensor) error {
	want, err := u.eval(vals)
	if err != nil {
		return err
	}
	v := use{u.def, a.Attrs(order), slices.Clone(u.in)}
	moved := slices.Clone(vals)
	for _, i := range a.In {
		x := vals[i]
		moved[i] = inOrderOf(x.Reshape(append(slices.Repeat([]int{1}, a.Rank-len(x.Shape)), x.Shape...)...), order)
		v.in[i] = moved[i].Type()
	}
	got, err := v.eval(moved)
	if err != nil {
		return err
	}
	for i, w := range want {
		if a.Drops == nil {
			w = inOrderOf(w, order)
		}
		if !got[i].Type().Equal(w.Type()) {
			return fmt.Errorf("%s instead of %s", got[i].Type(), w.Type())
		}
		if err := differ(got[i], w, 1e-5); err != nil {
			return err
		}
	}
	return nil
}

// eval computes u by its reference.
func (u use) eval(vals []*tensor.Tensor) ([]*tensor.Tensor, error) {
	out, err := u.infer()
	if err != nil {
		return nil, err
	}
	list := make([]*tensor.Tensor, len(out))
	for i, t := range out {
		list[i] = tensor.NewOf(t.With(""))
	}
	return list, u.def.Eval(u.attrs, vals, list)
}

func inOrderOf(t *tensor.Tensor, order []int) *tensor.Tensor {
	out := tensor.New(t.DType, op.Permuted(t.Shape, order)...)
	if err := Transpose.Eval(TransposeAttrs{Axes: order}, []*tensor.Tensor{t}, []*tensor.Tensor{out}); err != nil {
		panic(err)
	}
	return out
}

// TestAxesDeclared: an operator with an attribute that names axes says how it is computed in another order, or stands in the
// table with a reason.
func TestAxesDeclared(t *testing.T) {
	for _, d := range All {
		ptr, _ := d.NewAttrs()
		s, named := reflect.TypeOf(ptr).Elem(), false
		for i := range s.NumField() {
			name := s.Field(i).Name
			named = named || name == "Axis" || name == "Axes" || name == "BatchAxis" || name == "SeqAxis"
		}
		if why := bound[d.Name]; named && (why == "") == (d.Axes == nil) {
			t.Errorf("%s: has Axes: %v; is bound to the order of axes: %q", d.Name, d.Axes != nil, why)
		} else if why != "" && !named {
			t.Errorf("%s: has no axis", d.Name)
		}
	}
}
