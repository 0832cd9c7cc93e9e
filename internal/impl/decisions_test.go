package impl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/loop"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/te"
	"lathe/internal/testkit/tetest"
	"lathe/internal/types"
)

// anyOf decides at random, and notes what it decided.
type anyOf struct {
	*rand.Rand
	names map[string]int // values taken that are no default, by decision
}

func (r anyOf) Choose(d choice.Decision) (int, error) {
	i := r.IntN(len(d.Values))
	name, _, _ := strings.Cut(d.Name, "(")
	if r.names[name] += 0; i != d.Default {
		r.names[name]++
	}
	return i, nil
}

// sample is a random kernel; strips and convolutions in the Winograd domain are made by graph passes, random sums are
// short and few statistics lie along another axis than the last, so that random computations have too few of these.
func sample(t *testing.T, r *rand.Rand, kind string) *tetest.Case {
	if kind == "winograd" {
		d, attrs, in, out := winogradConv(r)
		return tetest.Of(r, kind, relu(d.Compute(attrs, []*te.Stage{te.Input("x", in[0]), te.Input("w", in[1])}, []types.Tensor{out})[0]))
	}
	if kind == "strips" {
		rows, channels := 3+r.IntN(12), 8*(1+r.IntN(3))
		y := relu(of(t, ops.Conv2d, conv(1, 1, 1), blocked(8), f32("", 1, 5, rows, 9), f32("ABCD8a", channels, 5, 1, 1)))
		y.Tag = lower.Strips
		stride := 1 + r.IntN(2)
		w := te.Input("w", f32("ABCD8a", channels, 1, 3, 3))
		return tetest.Of(r, kind, relu(ops.Conv2d.Compute(conv(3, stride, channels), []*te.Stage{y, w}, []types.Tensor{f32(blocked(8), 1, channels, (rows+stride-1)/stride, (8+stride)/stride)})[0]))
	}
	if kind == "long sum" {
		m, depth, n := 1+r.IntN(9), 100+r.IntN(900), 1+r.IntN(40)
		if r.IntN(3) == 0 { // tiles and panels enough for blocks
			m, depth, n = 15+r.IntN(20), 194+r.IntN(100), 64+32*r.IntN(3)
			return tetest.Of(r, kind, relu(inPanels(1, of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", m, depth), f32("BA16b", depth, n)))))
		}
		return tetest.Of(r, kind, relu(of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", m, depth), f32("", depth, n))))
	}
	if kind == "streamed" {
		m, depth, n := 1+r.IntN(5), 20+r.IntN(80), 1+r.IntN(200)
		switch r.IntN(3) {
		case 0: // panels of two vectors of the crowded machine
			return tetest.Of(r, kind, inPanels(2, of(t, ops.Dense, op.None{}, "", f32("", 1, depth), f32("AB16a", 200+n, depth))))
		case 1:
			return tetest.Of(r, kind, of(t, ops.Max, ops.ReduceAttrs{Axis: []int{1}}, "", f32("", m, depth, 1+n/8, 8+r.IntN(8))))
		}
		return tetest.Of(r, kind, relu(of(t, ops.Matmul, ops.MatmulAttrs{}, "", f32("", m, 1, depth), f32("", m, depth, 100+n))))
	}
	if kind == "bytes" {
		m, depth, n := 1+r.IntN(9), 4*(1+r.IntN(20)), 1+r.IntN(40)
		x, w := te.Input("x", types.Of(types.U8, m, depth)), te.Input("w", types.Of(types.I8, n, depth))
		if r.IntN(2) == 0 {
			w.Type.Layout = types.Layout(fmt.Sprintf("AB%da4b", 8<<r.IntN(3)))
		}
		return tetest.Of(r, kind, te.Fold("products", types.Of(types.I32, m, n), te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(expr.CastTo(types.I32, x.At(i[0], r[0])), expr.CastTo(types.I32, w.At(i[1], r[0])))
		}))
	}
	if kind == "scaled" { // weights with scales of blocks, in vectors of columns
		m, depth, lanes := 1+r.IntN(30), 16*(1+r.IntN(6)), 8<<r.IntN(3)
		n := lanes * (1 + r.IntN(3))
		w := types.Of([]types.DType{types.I4, types.U4, types.I8}[r.IntN(3)], n, depth).With(types.Layout(fmt.Sprintf("AB%da8b", lanes)))
		return tetest.Of(r, kind, relu(of(t, ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: 16}, "", f32("", m, depth), w,
			f32(types.Layout(fmt.Sprintf("AB%da", lanes)), n, (depth+15)/16))))
	}
	if kind == "functions" { // of many vectors, each a chain of operations
		x := te.Input("x", f32("", 1+r.IntN(8), 1+r.IntN(150)))
		return tetest.Of(r, kind, te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Call(expr.FnExp, x.At(i...)) }))
	}
	if kind == "planes" { // whose elements lie between each other's
		return tetest.Of(r, kind, of(t, ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 3, 1, 2}}, "", f32("", 1, 2+r.IntN(10), 2+r.IntN(20), 2+r.IntN(3))))
	}
	if kind == "repeated" {
		a, b, n := 1+r.IntN(3), 1+r.IntN(4), 1+r.IntN(400)
		if r.IntN(2) == 0 {
			return tetest.Of(r, kind, of(t, ops.Tile, ops.TileAttrs{Reps: []int{1, 2 + r.IntN(5), 1}}, "", f32("", a, 4*b, 1+n/4)))
		}
		return tetest.Of(r, kind, of(t, ops.BroadcastTo, ops.BroadcastToAttrs{Shape: []int{a, 2 + r.IntN(5), b, n}}, "", f32("", a, 1, b, n)))
	}
	if kind == "columns" {
		most := of(t, ops.Max, ops.ReduceAttrs{Axis: []int{1}, KeepDims: true}, "", f32("", 1+r.IntN(3), 2+r.IntN(30), 1+r.IntN(70)))
		x := te.Order(most)[0]
		return tetest.Of(r, kind, relu(te.Compute("y", x.Type, func(i []expr.Expr) expr.Expr { return expr.Add(x.At(i...), most.At(i[0], expr.Index(0), i[2])) })))
	}
	return tetest.New(r, kind)
}

// narrow is the machine on which convolutions in the Winograd domain are small.
var narrow = machines[2]

// winogradConv is a random convolution in the Winograd domain, of data or of what was transformed before. The matrices of its tiles are
// small integers, so that sums are exact.
func winogradConv(r *rand.Rand) (d *op.Def, attrs any, in []types.Tensor, out types.Tensor) {
	lanes, tile, height, width := narrow.Lanes(32), 2, 3+r.IntN(8), 3+r.IntN(8)
	images, channels, vecs := 1+r.IntN(2), lanes*(1+r.IntN(2)), 1+r.IntN(2)
	products := (tile + 2) * (tile + 2)
	out = f32(blocked(lanes), images, vecs*lanes*(1+r.IntN(2)), height, width)
	w := f32(types.Layout(fmt.Sprintf("BAC%db", vecs*lanes)), products, out.Shape[1], channels)
	if r.IntN(2) == 0 {
		return ops.WinogradConv, ops.WinogradInputAttrs{TileSize: tile, KernelSize: []int{3, 3}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: []int{1, 1, 1, 1}}, []types.Tensor{f32(blocked(lanes), images, channels, height, width), w}, out
	}
	tiles := images * ((height + tile - 1) / tile) * ((width + tile - 1) / tile)
	x := f32(types.Layout(fmt.Sprintf("CBA%dc%db", 2+r.IntN(6), lanes)), products, channels, tiles)
	return ops.WinogradProduct, ops.WinogradProductAttrs{TileSize: tile, KernelSize: []int{3, 3}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Height: height, Width: width}, []types.Tensor{x, w}, out
}

// planned schedules a kernel as it is decided. seed made that of a kind.
func planned(k *lower.Kernel, kind string, seed uint64, cpu *target.Target, by choice.Chooser) (plan *impl.Plan, err error) {
	if kind == "winograd" {
		d, attrs, in, out := winogradConv(rand.New(rand.NewPCG(seed, 11)))
		anchor := te.Input("anchor", out)
		rest := lower.Lower("kernel", relu(te.Compute("y", out, func(i []expr.Expr) expr.Expr { return anchor.At(i...) })), lower.Options{Apart: true})
		panel := in[1].Layout.BlockOf(1, 3) / narrow.Lanes(32)
		plan, err = algorithms.Table.Anchored(d, impl.Anchor{Call: impl.Call{Attrs: attrs, In: in, Out: []types.Tensor{out}, Target: cpu}, Rest: rest, From: "anchor",
			Point: choice.Point{"winograd_tile": fmt.Sprintf("%d x %d", 1+seed%6, panel)}}, by)
	} else {
		plan, err = algorithms.Table.Choose(k, cpu, by)
	}
	if err != nil {
		return nil, err
	}
	if _, err = plan.Divide(cpu, slices.Repeat([]impl.Operand{{Bytes: 1 << 20, Home: impl.Scattered}}, len(k.Params)-1), by); err != nil {
		return nil, err
	}
	return plan, plan.DecideInstructions(by)
}

// checkDecision tells what is wrong with a decision of a rule: the default costs least, unless the list says what is preferred.
func checkDecision(d choice.Decision, rule string) string {
	name, _, _ := strings.Cut(d.Name, "(")
	i := slices.IndexFunc(algorithms.Table.Decisions(), func(info impl.DecisionInfo) bool { return info.Name == name })
	if i < 0 {
		return "not in the list"
	}
	if owner := algorithms.Table.Decisions()[i].Owner; owner != "all" && !slices.Contains(strings.Split(owner, ", "), rule) {
		return "asked by rule " + rule
	}
	if len(d.Values) == 0 || d.Default >= len(d.Values) {
		return "no default"
	}
	for _, v := range d.Values {
		switch fixed := algorithms.Table.Decisions()[i].Prefer != ""; {
		case fixed && v.Cost != 0:
			return "a cost that decides nothing"
		case !fixed && len(d.Values) > 1 && !(v.Cost > 0) && name != "division": // nothing is known of a kernel without operands
			return "no cost"
		case v.Cost < d.Values[d.Default].Cost:
			return "the default costs more than " + v.Text
		}
	}
	return ""
}

// TestPoints: whatever is decided, a kernel computes the same; a point given by hand makes the nest that was decided so;
// decisions are those of the list.
func TestPoints(t *testing.T) {
	points := 1000 / len(tetest.Kinds())
	if testing.Short() {
		points = 12
	}
	r := anyOf{rand.New(rand.NewPCG(1, 13)), map[string]int{}}
	cpus := append(slices.Clone(machines), core)
	for _, kind := range append(tetest.Kinds(), "strips", "long sum", "columns", "bytes", "streamed", "scaled", "functions", "planes", "repeated", "winograd") {
		for seed := range uint64(points) {
			c := sample(t, rand.New(rand.NewPCG(seed, 11)), kind)
			k := c.Lower()
			cpu := cpus[seed%uint64(len(cpus))]
			switch kind {
			case "winograd":
				cpu = narrow
			case "streamed", "repeated":
				cpu = crowded
			}
			decided := func(by choice.Chooser) *impl.Plan {
				plan, err := planned(k, kind, seed, cpu, by)
				if err != nil {
					t.Fatalf("%s, seed %d: %v\n%s", kind, seed, err, te.String(c.Out))
				}
				return plan
			}
			plan := decided(r)
			again := decided(plan.Taken)
			if again.Schedule.Func.String() != plan.Schedule.Func.String() {
				t.Fatalf("%s, seed %d: %v makes another nest when given by hand", kind, seed, plan.Taken)
			}
			for _, d := range plan.Asked {
				if why := checkDecision(d, plan.Rule); why != "" {
					t.Errorf("%s, seed %d: %s: %+v", kind, seed, why, d)
				}
			}
			if err := loop.Verify(plan.Schedule.Func); err != nil {
				t.Fatalf("%s, seed %d, %v: %v\n%s", kind, seed, plan.Taken, err, plan.Schedule.Func)
			}
			if err := c.Check(k, plan.Schedule.Func, 1+int(seed%3)); err != nil {
				t.Fatalf("%s, seed %d, %v: %v\n%s\n%s\n%s", kind, seed, plan.Taken, err, te.String(c.Out), plan.Schedule, plan.Schedule.Func)
			}
		}
	}
	if testing.Short() {
		return // too few kernels for every decision
	}
	for _, d := range algorithms.Table.Decisions() {
		if _, asked := r.names[d.Name]; !asked && d.Owner != "extern" && d.Owner != "matrix" { // these packages have tests of their own
			t.Errorf("decision %s is asked by no random kernel", d.Name)
		}
	}
}
