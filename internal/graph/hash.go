package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"lathe/internal/choice"
)

// A ConstKey says what counts of a constant in a hash.
type ConstKey uint8

const (
	ByType  ConstKey = iota // only its type and where else it is used: graphs that can share code are equal
	ByValue                 // its elements too
)

// Hash is the structural hash of g: operators, attributes, implementations, types with layouts, and how values connect. It
// does not depend on names, origins, the order of independent nodes or nodes that no output needs, and is the same in
// every run and on every machine. g must be valid.
func Hash(g *Graph, by ConstKey) string {
	hash, _ := HashWithConsts(g, by)
	return hash
}

// HashWithConsts is Hash with the constants of g in the order in which it finds them: those of graphs with equal hashes
// stand for each other, as inputs and outputs do by their places. settled are decisions that do not count: what they led to is in
// the types.
func HashWithConsts(g *Graph, by ConstKey, settled ...string) (hash string, consts []*Value) {
	h := hasher{by: by, settled: settled, consts: map[any]int{}, contents: NewConsts()}
	h.graph(g)
	sum := sha256.Sum256(h.out)
	return hex.EncodeToString(sum[:16]), h.found
}

// A hasher writes graphs in a form that is the same for equal ones: nodes in the order in which a walk from the outputs
// first finishes them, and every value under its place in that order.
type hasher struct {
	out      []byte
	by       ConstKey
	settled  []string
	consts   map[any]int // number by value, or by content hash
	found    []*Value    // by number
	contents *Consts
}

func (h *hasher) text(s string) { h.out = append(h.out, s...) }

func (h *hasher) quote(s string) { h.out = strconv.AppendQuote(h.out, s) }

func (h *hasher) number(mark byte, n int) {
	h.out = strconv.AppendInt(append(h.out, mark), int64(n), 10)
}

func (h *hasher) graph(g *Graph) {
	values := make(map[*Value]int, len(g.Inputs)+len(g.Nodes))
	h.text("(")
	for _, v := range g.Inputs {
		values[v] = len(values)
		h.text(v.Type.String())
	}
	h.text(")")
	seen := make(map[*Node]bool, len(g.Nodes))
	var visit func(v *Value)
	visit = func(v *Value) {
		n := v.Def
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, in := range n.In {
			visit(in)
		}
		h.node(n, values)
	}
	for _, o := range g.Outputs {
		visit(o)
	}
	h.text("return")
	for _, o := range g.Outputs {
		h.use(o, values)
	}
}

func (h *hasher) node(n *Node, values map[*Value]int) {
	h.quote(n.Op.Name)
	h.out = appendAttrs(h.out, n.Attrs)
	h.out = appendImpl(h.out, Impl{Name: n.Impl.Name, Point: h.unsettled(n.Impl.Point)})
	for _, v := range n.In {
		h.use(v, values)
	}
	h.text("=")
	for _, v := range n.Out {
		values[v] = len(values)
		h.text(v.Type.String())
	}
	for _, s := range n.Sub {
		h.text("{")
		h.graph(s)
		h.text("}")
	}
	h.text(";")
}

// unsettled are the decisions that count.
func (h *hasher) unsettled(p choice.Point) choice.Point {
	if !slices.ContainsFunc(h.settled, func(name string) bool { return p[name] != "" }) {
		return p
	}
	left := maps.Clone(p)
	for _, name := range h.settled {
		delete(left, name)
	}
	return left
}

func (h *hasher) use(v *Value, values map[*Value]int) {
	if v.Const == nil {
		h.number('%', values[v])
		return
	}
	var key any = v
	if h.by == ByValue {
		key = h.contents.Add(v.Const)
	}
	i, known := h.consts[key]
	if !known {
		i = len(h.consts)
		h.consts[key] = i
		h.found = append(h.found, v)
	}
	h.number('@', i)
	if known {
		return
	}
	h.text(v.Type.String())
	if content, ok := key.(string); ok {
		h.text("#")
		h.text(content)
	}
}
