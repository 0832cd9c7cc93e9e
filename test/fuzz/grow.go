package fuzz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/compose"
	export "lathe/internal/export/onnx"
	frontend "lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// A builder makes models in ONNX's own terms, with what graphs no longer have: attributes left out or spelled in other ways,
// operators that become several, old operator sets, bodies of control flow. The importer tells what the results are.
type builder struct {
	*rand.Rand
	opset  int
	names  *int // shared with builders of bodies
	graph  *export.Graph
	types  map[string]types.Tensor
	values []string // what further nodes may read
	room   int      // inputs that may still be made

	pending export.Graph // of the template that is being tried
	depth   int
}

// opsets are the versions that models are written in.
var opsets = []int{11, 12, 13, 13, 14, 15, 16, 17, 18, 18, 19, 20, 21, 22, 23, 24, 25, 26}

func newBuilder(r *rand.Rand) *builder {
	return &builder{Rand: r, opset: opsets[r.IntN(len(opsets))], names: new(int), graph: &export.Graph{Name: "main"}, types: map[string]types.Tensor{}, room: 6}
}

func (b *builder) coin(k int) bool                       { return b.IntN(k) > 0 }
func (b *builder) between(lo, hi int) int                { return lo + b.IntN(hi-lo+1) }
func (b *builder) word(list ...string) string            { return list[b.IntN(len(list))] }
func (b *builder) axis(rank int) int                     { return b.IntN(max(2*rank, 1)) - rank }
func (b *builder) dtype(list ...types.DType) types.DType { return list[b.IntN(len(list))] }

// float is a floating-point type, mostly float32.
func (b *builder) float() types.DType {
	return b.dtype(types.F32, types.F32, types.F32, types.F32, types.F32, types.F64, types.F16, types.BF16)
}

// extent is one of an axis: odd, rarely empty.
func (b *builder) extent() int {
	if b.IntN(60) == 0 {
		return 0
	}
	return []int{1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33}[b.IntN(13)]
}

// shape has lo to hi axes and not too many elements.
func (b *builder) shape(lo, hi int) []int {
	s, room := make([]int, b.between(lo, hi)), 3000
	for i := range s {
		s[i] = min(b.extent(), max(room, 1))
		room /= max(s[i], 1)
	}
	return s
}

// some is a value of one of the element types with lo to hi axes, and its shape: mostly a recent one as it is, so that operators
// meet what others give.
func (b *builder) some(lo, hi int, list ...types.DType) (string, types.Tensor) {
	if b.coin(4) {
		for k := range min(4, len(b.values)) {
			s := b.values[len(b.values)-1-k]
			t := b.types[s]
			if t.Rank() >= lo && t.Rank() <= hi && slices.Contains(list, t.DType) && b.coin(3) {
				return s, t
			}
		}
	}
	t := types.Of(list[b.IntN(len(list))], b.shape(lo, hi)...)
	return b.value(t.DType, t.Shape...), t
}

// floats are floating-point types, and numbers integers too.
var (
	floatTypes  = []types.DType{types.F32, types.F32, types.F32, types.F32, types.F64, types.F16, types.BF16}
	numberTypes = append([]types.DType{types.I32, types.I64}, floatTypes...)
)

func (b *builder) fresh(base string) string {
	*b.names++
	return fmt.Sprintf("%s%d", base, *b.names)
}

// value is the name of a value of type d and shape: an earlier one, a new input or a constant.
func (b *builder) value(d types.DType, shape ...int) string {
	t := types.Of(d, shape...)
	switch k := b.IntN(6); {
	case k == 0 && b.room > 0:
		return b.input(t)
	case k == 1:
		return b.weight(d, shape...)
	}
	for _, i := range b.Perm(len(b.values)) {
		if b.types[b.values[i]].Equal(t) {
			return b.values[i]
		}
	}
	if len(b.values) > 0 && t.Elements() < 20000 {
		if s := b.adapt(b.values[b.IntN(len(b.values))], t); s != "" {
			return s
		}
	}
	if b.room > 0 {
		return b.input(t)
	}
	return b.weight(d, shape...)
}

func (b *builder) input(t types.Tensor) string {
	s := b.fresh("x")
	b.room--
	b.types[s] = t
	b.pending.Inputs = append(b.pending.Inputs, export.Value{Name: s, DType: t.DType, Dims: export.Dims(t.Shape...)})
	return s
}

// weight is a constant.
func (b *builder) weight(d types.DType, shape ...int) string {
	return b.constant(graphtest.Random(b.Rand, types.Of(d, shape...), graphtest.Moderate))
}

func (b *builder) constant(t *tensor.Tensor) string {
	s := b.fresh("c")
	b.pending.Initializers = append(b.pending.Initializers, export.Initializer{Name: s, Tensor: t})
	return s
}

func (b *builder) ints(v ...int) string { return b.constant(compose.Ints(v...).Const) }
func (b *builder) number(d types.DType, v float64) string {
	return b.constant(compose.Number(d, v).Const)
}

// node appends a node with n results.
func (b *builder) node(op string, in []string, n int, attrs ...export.Attr) []string {
	domain := ""
	if i := bytes.LastIndexByte([]byte(op), '.'); i >= 0 {
		domain, op = op[:i], op[i+1:]
	}
	out := make([]string, n)
	for i := range out {
		out[i] = b.fresh("v")
	}
	attrs = slices.DeleteFunc(attrs, func(a export.Attr) bool { return a.Name == "" })
	b.pending.Nodes = append(b.pending.Nodes, &export.Node{Op: op, Domain: domain, In: in, Out: out, Attrs: attrs})
	return out
}

// one is a node with one result.
func (b *builder) one(op string, in []string, attrs ...export.Attr) string {
	return b.node(op, in, 1, attrs...)[0]
}

// maybe is an attribute, or none.
func (b *builder) maybe(name string, v any) export.Attr {
	if b.IntN(2) == 0 {
		return export.Attr{}
	}
	return export.Attr{Name: name, Value: v}
}

func (b *builder) flag(name string) export.Attr { return b.maybe(name, b.IntN(2)) }

// adapt casts, cuts or repeats, and reshapes a value; empty where it has no elements.
func (b *builder) adapt(x string, t types.Tensor) string {
	have, want := b.types[x].Elements(), t.Elements()
	if have == 0 {
		return ""
	}
	if b.types[x].DType != t.DType {
		x = b.one("Cast", []string{x}, export.Attr{Name: "to", Value: export.ElemType(t.DType)})
	}
	if have != want {
		x = b.one("Reshape", []string{x, b.ints(-1)})
		if have < want {
			x = b.one("Tile", []string{x, b.ints((want + have - 1) / have)})
		}
		x = b.one("Slice", []string{x, b.ints(0), b.ints(want)})
	}
	attr := export.Attr{}
	if slices.Contains(t.Shape, 0) {
		if b.opset < 14 {
			return ""
		}
		attr = export.Attr{Name: "allowzero", Value: 1}
	}
	return b.one("Reshape", []string{x, b.ints(t.Shape...)}, attr)
}

// model is the graph with pending parts and some outputs.
func (b *builder) model(outs ...string) *export.Model {
	g := &export.Graph{Name: "main", Nodes: slices.Concat(b.graph.Nodes, b.pending.Nodes),
		Initializers: slices.Concat(b.graph.Initializers, b.pending.Initializers), Inputs: slices.Concat(b.graph.Inputs, b.pending.Inputs)}
	for _, o := range outs {
		g.Outputs = append(g.Outputs, export.Value{Name: o, DType: b.types[o].DType, Free: true})
	}
	return &export.Model{Opsets: map[string]int{"": b.opset, "com.microsoft": 1}, Graph: g}
}

// try applies a template and keeps what it made where that imports.
func (b *builder) try(make template) bool {
	b.pending = export.Graph{}
	room := b.room
	outs := make(b)
	kept := false
	if len(outs) > 0 {
		kept = b.learn(outs) == nil
	}
	if kept {
		b.graph = b.model().Graph
		for _, v := range b.pending.Inputs {
			b.values = append(b.values, v.Name)
		}
		b.values = append(b.values, outs...)
	} else {
		b.room = room
	}
	b.pending = export.Graph{}
	return kept
}

// learn finds the types of values by importing the model so far.
func (b *builder) learn(outs []string) error {
	var file bytes.Buffer
	if err := b.model(outs...).Write(&file, nil); err != nil {
		return err
	}
	m, err := frontend.Read(file.Bytes(), "")
	if err != nil {
		return err
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		return err
	}
	return b.note(g)
}

func (b *builder) note(g *graph.Graph) error {
	for _, v := range g.Outputs {
		if v.Type.Elements() > 20000 {
			return errNothing
		}
	}
	for _, v := range g.Outputs {
		b.types[v.Name] = v.Type
	}
	return nil
}

// fill applies templates until the graph has a few. Most models are made of few of them, which then meet each other often.
func (b *builder) fill(list []template, least, most int) {
	if k := b.between(2, 6); b.coin(4) {
		few := make([]template, k)
		for i := range few {
			few[i] = list[b.IntN(len(list))]
		}
		list = few
	}
	for want, tries := b.between(least, most), 0; want > 0 && tries < 40; tries++ {
		if b.try(list[b.IntN(len(list))]) {
			want--
		}
	}
}

// finish is the file, with the last value and some others as outputs.
func (b *builder) finish() ([]byte, error) {
	var computed []string
	for _, n := range b.graph.Nodes {
		for _, o := range n.Out {
			if slices.Contains(b.values, o) {
				computed = append(computed, o)
			}
		}
	}
	if len(computed) == 0 {
		return nil, errNothing
	}
	outs := []string{computed[len(computed)-1]}
	for b.IntN(2) == 0 && len(outs) < 4 {
		if o := computed[b.IntN(len(computed))]; !slices.Contains(outs, o) {
			outs = append(outs, o)
		}
	}
	var file bytes.Buffer
	err := b.model(outs...).Write(&file, nil)
	return file.Bytes(), err
}

// grown is a model in ONNX's terms.
func grown(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	b := newBuilder(r)
	b.fill(templates, 2, 12)
	file, err := b.finish()
	return file, graphtest.Moderate, err
}

// control is one with If, Loop and Scan among its nodes.
func control(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	b := newBuilder(r)
	b.fill(templates, 0, 3)
	b.fill(controlTemplates, 1, 2)
	b.fill(templates, 0, 2)
	file, err := b.finish()
	return file, graphtest.Moderate, err
}
