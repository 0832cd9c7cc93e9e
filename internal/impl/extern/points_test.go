package extern_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/impl/extern"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/op"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// anyOf decides at random, and counts by decision what it took that is no default.
type anyOf struct {
	*rand.Rand
	names map[string]int
}

func (r anyOf) Choose(d choice.Decision) (int, error) {
	i := r.IntN(len(d.Values))
	if r.names[d.Name] += 0; i != d.Default {
		r.names[d.Name]++
	}
	return i, nil
}

// results runs a kernel on operands.
func results(t *testing.T, p *impl.Plan, in []*tensor.Tensor, out []types.Tensor) (list [][]byte) {
	t.Helper()
	f := p.Schedule.Func
	if err := loop.Verify(f); err != nil {
		t.Fatalf("%v: %v\n%s", p.Taken, err, f)
	}
	all := slices.Clone(in)
	for _, y := range out {
		all = append(all, tensor.NewOf(y))
	}
	args := make([]*tensor.Tensor, len(all))
	for i, x := range all {
		b := f.Params[i] // elements that are only moved have another type there
		args[i] = tensor.Over(b.DType, b.Shape, x.Bytes())
	}
	workers := 1
	if loop.Divided(f.Body) {
		workers = 3
	}
	if err := interp.Run(f, args, workers); err != nil {
		t.Fatalf("%v: %v\n%s", p.Taken, err, f)
	}
	for _, y := range all[len(in):] {
		list = append(list, y.Bytes())
	}
	return list
}

// TestPoints: whatever is decided, a kernel computes the same bits as by default, which internal/verify holds to the operators'
// definitions; every decision of the list is asked.
func TestPoints(t *testing.T) {
	samples := uint64(40)
	if testing.Short() {
		samples = 24 // rows beside each other, enough for a vector, are rare
	}
	machine := &target.Target{VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}
	asked := map[string]int{}
	defs := slices.SortedFunc(maps.Keys(extern.Algorithm.Externs), func(a, b *op.Def) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range defs {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range samples {
				r := rand.New(rand.NewPCG(seed, 43))
				attrs, in := d.Sample(r)
				args, values := make([]op.Arg, len(in)), make([]*tensor.Tensor, len(in))
				for i, x := range in {
					args[i], values[i] = op.Arg{Tensor: x}, tensor.NewOf(x)
					for k := range values[i].Len() {
						values[i].SetInt(k, int64(r.IntN(7)))
					}
				}
				out, err := d.Infer(attrs, args)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(out, func(y types.Tensor) bool { return y.Elements() == 0 }) {
					continue // nothing is left to do
				}
				call := impl.Call{Attrs: attrs, In: in, Out: out, Target: machine}
				ask := func(by choice.Chooser) *impl.Plan {
					p, err := algorithms.Table.Extern(d, call, by)
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if _, err := p.Divide(machine, nil, by); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					return p
				}
				want := results(t, ask(nil), values, out)
				for range 3 {
					p := ask(anyOf{r, asked})
					for i, y := range results(t, p, values, out) {
						if !bytes.Equal(y, want[i]) {
							t.Errorf("seed %d: %v gives another result %d", seed, p.Taken, i)
						}
					}
				}
			}
		})
	}
	for _, d := range append(extern.Algorithm.Decisions, impl.DecisionInfo{Name: "workers"}, impl.DecisionInfo{Name: "lanes"}) {
		if asked[d.Name] == 0 {
			t.Errorf("no kernel was decided otherwise by %s", d.Name)
		}
	}
}
