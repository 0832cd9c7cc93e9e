package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lathe/internal/compile"
	export "lathe/internal/export/onnx"
	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/toolchain"
	"lathe/internal/verify"
)

// A Variant is a way to compile.
type Variant struct {
	Name   string
	Target string
	Level  int
}

// Variants are the levels, and instruction sets with vectors of other widths.
var Variants = []Variant{
	{"-O3", "llvm", 3}, {"-O0", "llvm", 0}, {"-O1", "llvm", 1},
	{"-O3 AVX2", "llvm -mcpu=x86-64-v3", 3}, {"-O3 SSE", "llvm -mcpu=x86-64-v2", 3},
}

// Some are the variants for one case: the first, another level, another instruction set.
func some(seed uint64) []Variant {
	return []Variant{Variants[0], Variants[1+seed%2], Variants[3+seed/2%2]}
}

// workerCounts must all give the same bits.
var workerCounts = []int{1, 2, 5}

// A Checker checks cases. Step, if not nil, is told what comes next.
type Checker struct {
	Step     func(string)
	Variants []Variant // none: some, by the case's number

	exact bool // the data hold denormals
}

func (c *Checker) step(s string) {
	if c.Step != nil {
		c.Step(s)
	}
}

// Check imports a case's file, compiles it in the variants, runs it on random inputs drawn from its number, and compares with
// the reference. With special data, which has NaN and infinities, nothing may differ at all.
func (c *Checker) Check(k *Case) Outcome {
	file, seed, data := k.File, k.Seed, k.Data
	c.step("import")
	var g *graph.Graph
	if o := guard("import", func() (err error) { g, err = Load(file); return err }); o != nil {
		if o.Kind == Errors {
			o.Kind = Refused
		}
		return *o
	}
	c.exact = data == graphtest.Special
	var inputs []*tensor.Tensor
	var want *Reference
	if Small(g) {
		c.step("reference")
		inputs = Inputs(g, seed, data)
		if o := guard("reference", func() (err error) { want, err = Refer(g, inputs, data == graphtest.Special); return err }); o != nil {
			return *o
		}
	}
	if o := c.roundTrip(g, inputs, want); o != nil {
		return *o
	}
	outcome := Outcome{Kind: Right}
	if want == nil {
		outcome.Kind = Large
	}
	refused, variants := "", c.Variants
	if len(variants) == 0 {
		variants = some(seed)
	}
	for i, v := range variants {
		if want == nil && i > 0 {
			break // the time is better spent on another case
		}
		o := c.variant(g, v, inputs, want)
		if o.Finding() {
			return o
		}
		if o.Kind == Refused {
			if i > 0 && refused == "" {
				o.Kind, o.Variant = Differs, v.Name
				o.Signature = "refused only at " + v.Name + ": " + skeleton(o.Detail)
				return o
			}
			refused, outcome = v.Name, o
		} else if refused != "" {
			return Outcome{Kind: Differs, Signature: "refused only at " + refused + ": " + skeleton(outcome.Detail), Detail: outcome.Detail, Variant: refused}
		}
	}
	return outcome
}

// Load imports a file.
func Load(file []byte) (*graph.Graph, error) {
	m, err := frontend.Read(file, "")
	if err != nil {
		return nil, err
	}
	return frontend.Import(m, frontend.Options{})
}

// Inputs are random inputs for g.
func Inputs(g *graph.Graph, seed uint64, data graphtest.Data) []*tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 77))
	var list []*tensor.Tensor
	for _, v := range g.Inputs {
		list = append(list, graphtest.Random(r, v.Type, data))
	}
	return list
}

// limits of what the reference evaluates: it is slow.
const (
	maxElements = 200_000
	maxWork     = 30_000_000
	mostTrips   = 8 // of loops that data end
)

// Small reports whether the reference evaluates g in a second or so.
func Small(g *graph.Graph) bool { return workOf(g) <= maxWork }

// workOf is about how many steps the evaluation of g takes; more than maxWork where a tensor is too large.
func workOf(g *graph.Graph) (work int) {
	for _, v := range g.Inputs { // read or not
		if v.Type.Elements() > 8*maxElements {
			return maxWork + 1
		}
	}
	for _, n := range g.Nodes {
		in, out := 0, 0
		for _, v := range n.In {
			in = max(in, v.Type.Elements())
		}
		for _, v := range n.Out {
			if v.Type.Elements() > maxElements {
				return maxWork + 1
			}
			out += v.Type.Elements()
		}
		if n.IsRegion() {
			once, trips := 0, 1
			for _, body := range n.Sub {
				once += workOf(body)
			}
			if a, ok := n.Attrs.(graph.LoopAttrs); ok {
				if trips = a.Trips; a.While {
					trips = mostTrips
				}
			}
			if once > maxWork/trips {
				return maxWork + 1
			}
			work += once * trips
			continue
		}
		each := 8
		switch {
		case len(n.In) > 1 && n.In[1].Type.Rank() > 2 && strings.Contains(n.Op.Name, "conv"):
			w := n.In[len(n.In)/2].Type // of quantised ones operand 2
			each = w.Elements() / max(1, w.Shape[0])
		case strings.Contains(n.Op.Name, "dense"), strings.Contains(n.Op.Name, "matmul"):
			each = n.In[0].Type.Shape[n.In[0].Type.Rank()-1]
		case strings.Contains(n.Op.Name, "resize"), strings.HasPrefix(n.Op.Name, "vision."):
			each = 200
		case strings.Contains(n.Op.Name, "pool"):
			each = max(200, int(n.Work()/float64(max(1, out))))
		}
		work += max(in, out*max(each, 8))
		if work > maxWork {
			return work
		}
	}
	return work
}

// mostWeights is the size in bytes of weights up to which a model is written and imported again: the process holds four copies then.
const mostWeights = 64 << 20

// roundTrip writes g and imports it again. What comes back is the same graph, or computes the same: some operators come back as
// several, and what an import finds constant in a graph it folds.
func (c *Checker) roundTrip(g *graph.Graph, inputs []*tensor.Tensor, want *Reference) *Outcome {
	c.step("export")
	weights := 0
	for _, v := range g.Constants() {
		weights += v.Const.Size()
	}
	if weights > mostWeights {
		return nil
	}
	var back *graph.Graph
	o := guard("export", func() error {
		var b bytes.Buffer
		err := export.Write(&b, g, export.Options{})
		if err == nil {
			back, err = Load(b.Bytes())
		}
		return err
	})
	if o != nil {
		o.Kind, o.Variant = RoundTrip, "export"
		return o
	}
	if want == nil || graph.Hash(g, graph.ByValue) == graph.Hash(back, graph.ByValue) {
		return nil
	}
	different := func(detail any) *Outcome {
		return &Outcome{Kind: RoundTrip, Signature: "export: another graph: " + strings.Join(opNames(g), " "), Detail: fmt.Sprintf("%v\n%s\nbecame\n%s", detail, g, back), Variant: "export"}
	}
	if !slices.EqualFunc(g.Inputs, back.Inputs, sameValue) || !slices.EqualFunc(g.Outputs, back.Outputs, sameValue) {
		return different("other inputs or outputs")
	}
	var got []*tensor.Tensor
	if o := guard("export", func() (err error) { got, err = evaluate(back, inputs, nil, func(*tensor.Tensor) {}); return err }); o != nil {
		return different(o.Detail)
	}
	if m := want.Compare(got); m != nil {
		return different(m)
	}
	return nil
}

// sameValue reports whether two graphs' inputs or outputs have one name and type.
func sameValue(a, b *graph.Value) bool { return a.Name == b.Name && a.Type.Equal(b.Type) }

func opNames(g *graph.Graph) []string {
	var list []string
	for _, n := range g.Nodes {
		list = append(list, n.Op.Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// variant compiles and runs g in one way.
func (c *Checker) variant(g *graph.Graph, v Variant, inputs []*tensor.Tensor, want *Reference) Outcome {
	c.step("compile " + v.Name)
	var res *compile.Result
	o := guard("compile "+v.Name, func() (err error) { res, err = c.compile(g, v, nil); return err })
	if o != nil {
		o.Variant = v.Name
		switch text := o.Detail; {
		case strings.Contains(text, "internal error") || strings.Contains(text, "panic"):
			o.Kind, o.Signature = Panics, "compile: "+place(text)+": "+skeleton(text)
		case o.Kind == Errors && strings.Contains(text, "not supported"):
			o.Kind = Refused
		default:
			o.Signature = "compile: " + skeleton(o.Detail)
		}
		return *o
	}
	if want == nil {
		return Outcome{Kind: Large}
	}
	res.Contents.Manifest.MaxWorkers = 0 // small models would keep to one worker
	var first []*tensor.Tensor
	for _, workers := range workerCounts {
		c.step(fmt.Sprintf("run %s with %d workers", v.Name, workers))
		got, err := verify.Execute(res, inputs, workers)
		if err != nil {
			return Outcome{Kind: Errors, Signature: "run: " + skeleton(err.Error()), Detail: err.Error(), Variant: v.Name}
		}
		if m := want.Compare(got); m != nil {
			culprit := c.culprit(g, v, inputs, want)
			return Outcome{Kind: Wrong, Signature: "wrong by " + culprit + ": " + strings.Join(opNames(g), " "),
				Detail: fmt.Sprintf("%s, %d workers: %v (right without %s)\n%s", v.Name, workers, m, culprit, g), Variant: v.Name}
		}
		for i := range first {
			if !bytes.Equal(first[i].Bytes(), got[i].Bytes()) {
				return Outcome{Kind: Unequal, Signature: "workers: " + strings.Join(opNames(g), " "),
					Detail: fmt.Sprintf("%s: output %d has other bits for %d workers than for %d\n%s", v.Name, i, workers, workerCounts[0], g), Variant: v.Name}
			}
		}
		if first = got; v.Level < 3 {
			break
		}
	}
	return Outcome{Kind: Right}
}

// culprit names the pass without which the result is right, or the level.
func (c *Checker) culprit(g *graph.Graph, v Variant, inputs []*tensor.Tensor, want *Reference) string {
	for _, p := range slices.Backward(pass.Table) {
		if p.Required || v.Level < p.Level {
			continue
		}
		c.step("without " + p.Name)
		right := false
		guard("", func() error {
			res, err := c.compile(g, v, []string{p.Name})
			if err != nil {
				return err
			}
			got, err := verify.Execute(res, inputs, 1)
			right = err == nil && want.Compare(got) == nil
			return err
		})
		if right {
			return p.Name
		}
	}
	return "level " + fmt.Sprint(v.Level)
}

func (c *Checker) compile(g *graph.Graph, v Variant, without []string) (*compile.Result, error) {
	t, err := resolve(v.Target)
	if err != nil {
		return nil, err
	}
	denormals := compile.DenormalsByTarget
	if c.exact {
		denormals = compile.DenormalsKeep
	}
	return compile.Compile(context.Background(), g.Clone(), compile.Options{Target: t, Level: v.Level, Workers: 2, Disabled: without, Denormals: denormals})
}

var targets = map[string]*target.Target{}

func resolve(s string) (*target.Target, error) {
	if targets[s] != nil {
		return targets[s], nil
	}
	spec, err := target.Parse(s)
	if err != nil {
		return nil, err
	}
	t, err := spec.Resolve(func() (target.Host, error) {
		h, err := toolchain.Host()
		h.Cores = 2
		return h, err
	})
	if err != nil {
		return nil, err
	}
	targets[s] = t
	return t, nil
}

var errNothing = errors.New("nothing generated")
