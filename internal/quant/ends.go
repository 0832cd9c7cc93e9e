package quant

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// What goes into a network and comes out of it are integers where Options.IO is a type of these. Such an input is a point, whoever reads it,
// so that choices are tried and quality is measured with its rounding; that of outputs is not in either, and reported by itself.

// integerInputs are the inputs that become integers: those of float32 that something reads, unless as numbers that are no quantities.
func (s *static) integerInputs() []*graph.Value {
	if s.IO == types.Invalid {
		return nil
	}
	var list []*graph.Value
	users := s.graph.Users()
	for _, v := range s.graph.Inputs {
		index := slices.ContainsFunc(users[v], func(n *graph.Node) bool { return n.Op == ops.Cast && n.Out[0].Type.DType.IsInt() })
		if v.Type.DType == types.F32 && len(users[v]) > 0 && !index {
			list = append(list, v)
		}
	}
	return list
}

// outputTaps are the outputs that become integers, as results of a simulation.
func (s *static) outputTaps() []calibrate.Tap {
	var list []calibrate.Tap
	for k, v := range s.graph.Outputs {
		if s.IO != types.Invalid && v.Type.DType == types.F32 {
			list = append(list, calibrate.Tap{Result: k, Axis: -1})
		}
	}
	return list
}

// integerEnds makes the inputs and outputs of g, which is realized, integers, and reports what they stand for.
func (s *static) integerEnds(g *graph.Graph, c *choices, r *Report) error {
	if s.IO == types.Invalid {
		return nil
	}
	r.IO = s.IO.String()
	w := rewrite.New(g)
	for i, p := range s.points {
		k := slices.Index(s.graph.Inputs, p.value)
		if k < 0 {
			continue
		}
		own := c.params[i]
		s.integerInput(w, g, k, own)
		row := s.pointReport(c, i)
		row.Zero = s.shifted(own).Zero
		r.Inputs = append(r.Inputs, row)
	}
	for i, t := range s.outputTaps() {
		v, h := g.Outputs[t.Result], &s.results[i].Histogram
		if h.Unfit > 0 {
			return fmt.Errorf("output %q: %d numbers of the samples are infinite or no numbers, which integers have no place for", v.Name, h.Unfit)
		}
		whole := outputRange(s.graph.Outputs[t.Result], h)
		p := activations(types.U8, false).params(whole)
		if s.IO == types.I8 {
			p.Zero -= 128
		}
		name := v.Name
		w.AtEnd()
		if v.Def != nil {
			w.From(v.Def)
		}
		scale, zero := p.constants(name, s.IO)
		w.ReplaceOutput(v, w.Apply(ops.Quantize, ops.QuantizeAttrs{OutDType: s.IO, Rounding: ops.HalfEven}, v, scale, zero))
		v.Name = name + "_float"
		r.Outputs = append(r.Outputs, PointReport{
			Name: name, Mode: "minmax", Min: whole.Min, Max: whole.Max, Scale: float64(p.Scale), Zero: p.Zero, SQNR: ratio(1, noiseShare(h, whole, float64(p.Scale))),
		})
	}
	if err := w.Finish(); err != nil {
		return err
	}
	return graph.Verify(g)
}

// integerInput makes input k, a point, integers; readers of its quantised values read these where the types are equal.
func (s *static) integerInput(w *rewrite.Rewriter, g *graph.Graph, k int, own Params) {
	in := g.Inputs[k]
	x := &graph.Value{Name: in.Name, Type: types.Of(s.IO, in.Type.Shape...)}
	in.Name, g.Inputs[k] = "", x
	readers := slices.Clone(w.Users(in))
	if s.IO == s.numbers.dtype {
		for _, n := range readers {
			q := n.Out[0]
			replaceReaders(w, slices.Clone(w.Users(q)), q, x)
		}
		if !w.IsOutput(in) {
			return
		}
	}
	w.Before(g.Nodes[0])
	w.From()
	scale, zero := s.shifted(own).constants(x.Name, s.IO)
	y := w.Apply(ops.Dequantize, ops.DequantizeAttrs{}, x, scale, zero)
	y.Name = x.Name + "_float"
	replaceReaders(w, slices.Clone(w.Users(in)), in, y)
	if w.IsOutput(in) { // under its name the graph returns what an output becomes
		in.Name = x.Name + "_output"
		w.ReplaceOutput(in, y)
	}
}

// shifted are the numbers of a point as those of inputs: uint8 and int8 differ by 128.
func (s *static) shifted(p Params) Params {
	switch {
	case s.IO == types.I8 && s.numbers.dtype == types.U8:
		p.Zero -= 128
	case s.IO == types.U8 && s.numbers.dtype == types.I8:
		p.Zero += 128
	}
	return p
}

// constants are the operands of a pair of quantize and dequantize.
func (p Params) constants(name string, d types.DType) (scale, zero *graph.Value) {
	z := tensor.New(d)
	z.SetInt(0, int64(p.Zero))
	return graph.NewConst(name+"_scale", tensor.Scalar(p.Scale)), graph.NewConst(name+"_zero_point", z)
}

// outputRange is the range of an output: what its operator can give, where that has ends, else the extremes of the samples.
func outputRange(v *graph.Value, h *calibrate.Histogram) calibrate.Range {
	if v.Def != nil && (v.Def.Op == ops.Softmax || v.Def.Op == ops.Sigmoid) {
		return calibrate.Range{Max: 1}
	}
	return calibrate.MinMax(h, 0, false)
}
