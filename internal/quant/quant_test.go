package quant

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// reference runs graphs by the definitions of operators.
func reference(_ context.Context, g *graph.Graph) (Executable, error) {
	return &evaluated{g, make([]*tensor.Tensor, len(g.Inputs))}, nil
}

type evaluated struct {
	g  *graph.Graph
	in []*tensor.Tensor
}

func (e *evaluated) SetInput(i int, t *tensor.Tensor) error { e.in[i] = t; return nil }
func (e *evaluated) Run() ([]*tensor.Tensor, error)         { return grapheval.Eval(e.g, e.in) }
func (e *evaluated) Close() error                           { return nil }

type list [][]*tensor.Tensor

func (l list) Len() int                           { return len(l) }
func (l list) At(i int) ([]*tensor.Tensor, error) { return l[i], nil }
func samplesOf(r *rand.Rand, g *graph.Graph, n int) list {
	var l list
	for range n {
		l = append(l, graphtest.Inputs(r, g))
	}
	return l
}

func options(l list) Options {
	return Options{Build: reference, Samples: l, CalibrateMode: "auto", Percentile: 99.99, GlobalScale: 8, Activations: types.U8, Correct: true}
}

// TestTable: every operator stands in the table of points once.
func TestTable(t *testing.T) {
	count := map[*op.Def]int{}
	for _, list := range table {
		for _, d := range list {
			count[d]++
		}
	}
	for _, d := range ops.All {
		if count[d] != 1 {
			t.Errorf("%s stands in the table of points %d times", d.Name, count[d])
		}
		delete(count, d)
	}
	for d := range count {
		t.Errorf("%s in the table of points is no operator", d.Name)
	}
}

// TestRandomNetworks: the quantised network is a right graph that gives what its simulation promised, in every mode and type.
func TestRandomNetworks(t *testing.T) {
	done := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 71))
		g := graphtest.New(r)
		float := g.Clone()
		samples := samplesOf(r, g, 4)
		o := options(samples)
		o.CalibrateMode = CalibrateModes[int(seed)%len(CalibrateModes)]
		o.ReduceRange, o.PowerOfTwoWeights = seed%5 == 0, seed%7 == 0
		if seed%4 == 0 {
			o.Skip = []string{"first"}
		}
		if seed%3 == 0 {
			o.Activations = types.I8
		}
		if seed%2 == 1 {
			o.IO = activationTypes[int(seed/2)%2]
		}
		res, err := Static(t.Context(), g, o)
		if err != nil {
			if !strings.Contains(err.Error(), "to quantise") && !strings.Contains(err.Error(), "can be quantised") && !strings.Contains(err.Error(), "no float32 output") && !strings.Contains(err.Error(), "infinite") {
				t.Fatalf("seed %d: %v\n%s", seed, err, float)
			}
			continue
		}
		done++
		judged := outputs(float)
		signal, noise := make([]float64, len(judged)), make([]float64, len(judged))
		for _, in := range samples {
			want, err := grapheval.Eval(float, in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := grapheval.Eval(res.Graph, asIntegers(t, float, res, in))
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, res.Graph)
			}
			asFloats(t, res, got)
			for k, o := range judged {
				w := o.numbers(want)
				noise[k] += distance(w, o.numbers(got))
				signal[k] += distance(w, make([]float32, len(w)))
			}
		}
		share := 0.0
		for k := range signal {
			share += noise[k] / math.Max(signal[k], math.SmallestNonzeroFloat64) / float64(len(signal))
		}
		allowed := 3.0
		if o.IO != types.Invalid { // what is reported does not count the rounding of outputs
			if slices.ContainsFunc(judged, func(o output) bool { return o.softmax }) {
				continue
			}
			all := math.Pow(10, -res.SQNR/10)
			for _, p := range res.Outputs {
				all += math.Pow(10, -p.SQNR/10) / float64(len(res.Outputs))
			}
			res.SQNR, allowed = ratio(1, all), 6 // of a few numbers, whose rounding need not be that of many
		}
		if got := ratio(1, share); res.SQNR < 100 && math.Abs(got-res.SQNR) > allowed { // a few numbers, one of which rounds the other way by its rounded bias
			t.Errorf("seed %d: %.1f dB instead of %.1f\n%s\n%s", seed, got, res.SQNR, float, res.Graph)
		}
	}
	if done < 40 {
		t.Errorf("only %d networks have layers", done)
	}
}

// TestBound: one layer errs by no more than its scales allow: half a step of the data with each weight, half a step of the weights with
// each number, and half a step of the bias.
func TestBound(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 72))
		rows, depth, columns := 1+r.IntN(4), 1+r.IntN(40), 1+r.IntN(8)
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, rows, depth))
		w := tensor.New(types.F32, columns, depth)
		for i := range w.Len() {
			w.SetFloat(i, r.NormFloat64())
		}
		n, err := g.Apply(ops.Dense, op.None{}, x, graph.NewConst("w", w))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name, g.Outputs = "y", n.Out
		float := g.Clone()
		samples := samplesOf(r, g, 3)
		o := options(samples)
		o.CalibrateMode, o.Correct = "minmax", false
		res, err := Static(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		q := quantiseWeights(w, nil, 0, 1, weightNumbers{most: 127})
		for _, in := range samples {
			want, _ := grapheval.Eval(float, in)
			got, err := grapheval.Eval(res.Graph, in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want[0].Len() {
				most := 1e-5
				for k := range depth {
					sx, sw := res.Points[0].Scale, float64(q.scale[i%columns])
					most += math.Abs(w.Float(i%columns*depth+k))*sx/2 + math.Abs(in[0].Float(i/columns*depth+k))*sw/2 + sx*sw/4
				}
				if off := math.Abs(want[0].Float(i) - got[0].Float(i)); off > most {
					t.Fatalf("seed %d: element %d is off by %g, at most %g are allowed", seed, i, off, most)
				}
			}
		}
	}
}

// TestClasses: dividing the channels of any classes by any numbers changes nothing that a network computes.
func TestClasses(t *testing.T) {
	scaled := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 73))
		g := graphtest.New(r)
		if err := prepare(t.Context(), g, nil, 1); err != nil {
			continue
		}
		s := &static{Options: options(nil), ctx: t.Context(), graph: g, numbers: activations(types.U8, false), weights: weightNumbers{most: 127}}
		if s.annotate() != nil {
			continue
		}
		classes, scale := classesOf(g, s.layers), map[int]float64{}
		for k := range classes.parent {
			if c := classes.root(k); c != fixed && scale[c] == 0 {
				scale[c] = math.Exp(r.NormFloat64())
			}
		}
		if len(scale) == 0 {
			continue
		}
		scaled++
		c := s.scaled(s.off(), classes, scale)
		net, err := s.simulate(c.weights)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := net.set(c.params, c.biases); err != nil {
			t.Fatal(err)
		}
		in := graphtest.Inputs(r, g)
		got, err := net.runner().Run(in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		for k, w := range want {
			norm, off := 0.0, 0.0
			for i := range w.Len() {
				norm, off = norm+w.Float(i)*w.Float(i), off+(w.Float(i)-got[k].Float(i))*(w.Float(i)-got[k].Float(i))
			}
			if off > norm*1e-8+1e-12 {
				t.Errorf("seed %d: output %d differs: %g of %g\n%s", seed, k, off, norm, g)
			}
		}
	}
	if scaled < 30 {
		t.Errorf("only %d networks have classes", scaled)
	}
}

// TestSameBytes: the same samples and options give the same network.
func TestSameBytes(t *testing.T) {
	for seed := range uint64(10) {
		var texts []string
		for range 2 {
			r := rand.New(rand.NewPCG(seed, 74))
			g := graphtest.New(r)
			res, err := Static(t.Context(), g, options(samplesOf(r, g, 3)))
			if err != nil {
				texts = append(texts, err.Error())
				continue
			}
			texts = append(texts, fmt.Sprint(res.Graph, res.Report))
		}
		if texts[0] != texts[1] {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}

// TestRefusals: what cannot be quantised is said in one line.
func TestRefusals(t *testing.T) {
	parse := func(text string) *graph.Graph {
		g, err := graph.Parse(text, ops.Lookup, graph.NewConsts())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for text, want := range map[string]string{
		"graph main(%x: float32[1,4]) {\n  %y: float32[1,4] = nn.relu(%x)\n  return %y\n}\n":                        "has no convolution",
		"graph main(%x: float32[1,4], %w: float32[3,4]) {\n  %y: float32[1,3] = nn.dense(%x, %w)\n  return %y\n}\n": "both of its operands are computed",
	} {
		g := parse(text)
		_, err := Static(t.Context(), g, options(samplesOf(rand.New(rand.NewPCG(1, 1)), g, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	g := parse("graph main(%x: float32[1,4]) {\n  %y: float32[1,4] = nn.relu(%x)\n  return %y\n}\n")
	if _, err := Static(t.Context(), g, options(nil)); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Error(err)
	}
}

// TestWeights: rounded weights are within half a step, biases exactly steps that fit into int32 beside the greatest sum.
func TestWeights(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 75))
		shape := []int{1 + r.IntN(5), 1 + r.IntN(5), 1 + r.IntN(3)}
		axis := r.IntN(2)
		w, b := tensor.New(types.F32, shape...), tensor.New(types.F32, shape[axis])
		for i := range w.Len() {
			w.SetFloat(i, r.NormFloat64()*math.Ldexp(1, r.IntN(40)-20))
		}
		for i := range b.Len() {
			b.SetFloat(i, r.NormFloat64()*math.Ldexp(1, r.IntN(60)-30))
		}
		data := float32(math.Ldexp(1+r.Float64(), r.IntN(20)-15))
		n := weightNumbers{most: []int{127, 63}[r.IntN(2)], power2: r.IntN(2) == 0}
		q := quantiseWeights(w, b, axis, data, n)
		back := q.floats(axis)
		for c, s := range q.scale {
			if fraction, _ := math.Frexp(float64(s)); n.power2 && fraction != 0.5 {
				t.Fatalf("seed %d: the scale of channel %d is %g, no power of two", seed, c, s)
			}
			greatest := 0.0
			for i := range w.Len() {
				if i/types.Count(shape[axis+1:])%shape[axis] == c {
					greatest = math.Max(greatest, math.Abs(w.Float(i)))
				}
			}
			if half := float64(s) / 2; n.power2 && half*float64(n.most) >= greatest && half*float64(data)*mostBias >= math.Abs(b.Float(c)) {
				t.Fatalf("seed %d: the scale of channel %d is %g, and half of it would do", seed, c, s)
			}
		}
		for i := range w.Len() {
			c := i / types.Count(shape[axis+1:]) % shape[axis]
			if off := math.Abs(w.Float(i) - back.Float(i)); off > float64(q.scale[c])*0.5001 {
				t.Fatalf("seed %d: weight %d is off by %g of a step", seed, i, off/float64(q.scale[c]))
			}
		}
		for c := range b.Len() {
			step := float64(q.biasScale[c])
			if n := q.bias.Int(c); n > mostBias+64 || n < -mostBias-64 || math.Abs(float64(n)*step-b.Float(c)) > step*0.5001+math.Abs(b.Float(c))*1e-6 {
				t.Fatalf("seed %d: bias %g is %d steps of %g", seed, b.Float(c), n, step)
			}
		}
	}
}

// TestParams: 0 is exact, the ends of the range are within half a step, and behind relu the zero point is the least integer.
func TestParams(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 76))
		n := activations([]types.DType{types.U8, types.I8}[r.IntN(2)], r.IntN(2) == 0)
		rg := rangeOf(r)
		p := n.params(rg)
		if p.Zero < n.low || p.Zero > n.high || n.symmetric && p.Zero != 0 || !n.symmetric && rg.Min == 0 && p.Zero != n.low {
			t.Fatalf("seed %d: %v has the zero point %d", seed, rg, p.Zero)
		}
		for _, x := range []float64{rg.Min, rg.Max} {
			q := math.Min(math.Max(math.RoundToEven(x/float64(p.Scale))+float64(p.Zero), float64(n.low)), float64(n.high))
			if off := math.Abs((q-float64(p.Zero))*float64(p.Scale) - x); off > float64(p.Scale)*1.01 {
				t.Fatalf("seed %d: %g of %v is off by %g steps", seed, x, rg, off/float64(p.Scale))
			}
		}
	}
	if slices.Contains(CalibrateModes, "") {
		t.Error("a mode has no name")
	}
}

func rangeOf(r *rand.Rand) calibrate.Range {
	rg := calibrate.Range{Min: -r.Float64(), Max: r.Float64() * 10}
	if r.IntN(3) == 0 {
		rg.Min = 0
	}
	return rg
}

// TestBudget: layers return to float until the budget is kept, and the network is then what the judgement says.
func TestBudget(t *testing.T) {
	returned, kept := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 77))
		g := graphtest.New(r)
		float := g.Clone()
		samples := samplesOf(r, g, 12)
		o := options(samples)
		o.CalibrateMode, o.GlobalScale, o.Correct, o.Budget.MinAgreement = "global_scale", 40, false, 90
		res, err := Static(t.Context(), g, o)
		if err != nil {
			continue
		}
		if res.Judged.Agreement() < 90 {
			t.Errorf("seed %d: %.0f %%", seed, res.Judged.Agreement())
		}
		kept++
		for _, l := range res.Layers {
			if strings.Contains(l.Why, "budget") {
				returned++
			}
		}
		same := 0
		output := slices.IndexFunc(float.Outputs, func(v *graph.Value) bool { return v.Type.DType == types.F32 })
		for _, in := range samples {
			want, _ := grapheval.Eval(float, in)
			got, err := grapheval.Eval(res.Graph, in)
			if err != nil {
				t.Fatal(err)
			}
			if greatestOf(want[output]) == greatestOf(got[output]) {
				same++
			}
		}
		if same != res.Judged.Same {
			t.Errorf("seed %d: %d samples agree instead of %d", seed, same, res.Judged.Same)
		}
	}
	if returned == 0 || kept < 15 {
		t.Errorf("%d networks keep a budget, %d layers returned to float", kept, returned)
	}
}

func greatestOf(t *tensor.Tensor) int {
	best := 0
	for i := range t.Len() {
		if t.Float(i) > t.Float(best) {
			best = i
		}
	}
	return best
}

// TestQConfig: TVM's names set what they mean, with TVM's defaults, and what is not done is refused with a reason.
func TestQConfig(t *testing.T) {
	o := options(nil)
	if err := o.SetQConfig(nil); err != nil || o.CalibrateMode != "global_scale" || o.GlobalScale != 8 || !o.PowerOfTwoWeights || !slices.Equal(o.SkipConvolutions, []int{0}) || !o.SkipDense || o.Correct {
		t.Errorf("defaults: %+v, %v", o, err)
	}
	if err := o.SetQConfig([]string{"nbit_weight=8", "calibrate_mode=kl_divergence", "global_scale=4", "skip_conv_layers=[1, 3]", "skip_dense_layer=False", "dtype_input=int8", "weight_scale=max"}); err != nil || o.PowerOfTwoWeights ||
		o.CalibrateMode != "kl_divergence" || o.GlobalScale != 4 || !slices.Equal(o.SkipConvolutions, []int{1, 3}) || o.SkipDense || o.Activations != types.I8 {
		t.Errorf("%+v, %v", o, err)
	}
	for text, want := range map[string]string{
		"nbit_weight=4": "only 8 is supported", "weight_scale=mean": "must be max or power2", "global_scal=8": "did you mean global_scale", "rounding": "must be NAME=VALUE",
		"calibrate_mode=entropy": "must be one of", "skip_conv_layers=a": "list of numbers", "global_scale=-1": "above 0", "dtype_input=int4": "must be one of", "skip_dense_layer=x": "invalid syntax",
	} {
		if err := o.SetQConfig([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", text, err, want)
		}
	}
}
