package graph

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/op"
	"lathe/internal/types"
)

// maxNesting bounds how deep graphs nest: the parser and its users recurse.
const maxNesting = 200

// Parse reads the text of a graph, as Print gives it; // starts a comment that ends with its line. lookup finds operators
// other than structural ones by name, as ops.Lookup does. c holds the constants that the text names by hash, and may be
// nil when there are none.
//
// The types of results may be left out where a node has no sub-graphs: inference supplies them, in plain layout, and
// where they are given it must agree. Beyond that the result is not verified.
func Parse(text string, lookup func(name string) (*op.Def, bool), c *Consts) (*Graph, error) {
	p := &parser{text: text, lookup: lookup, side: c, consts: map[string]*Value{}}
	p.space()
	g := p.graph()
	if p.err == nil && p.pos < len(p.text) {
		p.failf("text after the graph")
	}
	if p.err != nil {
		return nil, fmt.Errorf("graph text: %w", p.err)
	}
	return g, nil
}

// A parser stands at the first byte of a token, or at the end. After the first error it stands at the end.
type parser struct {
	text   string
	pos    int
	err    error
	lookup func(string) (*op.Def, bool)
	side   *Consts
	consts map[string]*Value
	depth  int
}

// tensorType reads a type such as float32[1,64,56,56]:ABCD8b.
func (p *parser) tensorType() types.Tensor {
	start := p.pos
	rest := p.text[start:]
	end := strings.IndexByte(rest, ']') + 1
	if end == 0 || strings.ContainsAny(rest[:end], " \n") {
		p.failf("%s where a tensor type is expected", p.here())
		return types.Tensor{}
	}
	if end < len(rest) && rest[end] == ':' {
		for end++; end < len(rest) && isWordByte(rest[end]); {
			end++
		}
	}
	t, err := types.ParseTensor(rest[:end])
	if err != nil {
		p.failf("%w", err)
		return types.Tensor{}
	}
	p.pos += end
	p.space()
	return t
}

// A declared value is one with its name in text, which is not in scope yet.
type declared struct {
	*Value
	at   int
	name string
}

// declaration reads the name of a new value after its sigil. The value has the name in quotes if there is one, and none
// if the name in text is a number.
func (p *parser) declaration(sigil string) declared {
	d := declared{&Value{}, p.pos, p.reference(sigil)}
	switch {
	case p.is(`"`):
		d.Name = p.quoted()
	case isName(d.name):
		d.Name = d.name
	case strings.ContainsFunc(d.name, func(r rune) bool { return r < '0' || r > '9' }):
		p.failAt(d.at, "%q is neither a name nor a number", d.name)
	}
	return d
}

// open puts a declared value in scope.
func (p *parser) open(scope map[string]*Value, d declared) {
	if p.err == nil && scope[d.name] != nil {
		p.failAt(d.at, "%q is declared twice", d.name)
	}
	scope[d.name] = d.Value
}

func (p *parser) reference(sigil string) string {
	if !p.is(sigil) {
		p.failf("%s where %q is expected", p.here(), sigil)
		return ""
	}
	p.pos++
	return p.run("a name", isNameByte)
}

func (p *parser) graph() *Graph {
	if p.depth++; p.depth > maxNesting {
		p.failf("graphs nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	if !p.acceptWord("graph") {
		p.failf("%s where a graph is expected", p.here())
	}
	g := &Graph{}
	if p.is(`"`) {
		g.Name = p.quoted()
	} else {
		g.Name = p.run("a name", isNameByte)
	}
	scope := map[string]*Value{}
	p.expect("(")
	for !p.accept(")") && p.err == nil {
		if g.Inputs != nil {
			p.expect(",")
		}
		d := p.declaration("%")
		p.expect(":")
		d.Type = p.tensorType()
		g.Inputs = append(g.Inputs, d.Value)
		p.open(scope, d)
	}
	p.expect("{")
	for p.is("@") {
		p.constant()
	}
	for !p.isWord("return") && p.err == nil {
		g.Nodes = append(g.Nodes, p.node(scope))
	}
	p.acceptWord("return")
	for !p.accept("}") && p.err == nil {
		if g.Outputs != nil {
			p.expect(",")
		}
		g.Outputs = append(g.Outputs, p.use(scope))
	}
	return g
}

// constant reads the declaration of a constant: elements in braces, or a hash. Elements are in plain order whatever the
// layout the type says.
func (p *parser) constant() {
	d := p.declaration("@")
	p.open(p.consts, d)
	at, v := d.at, d.Value
	p.expect("=")
	v.Type = p.tensorType()
	if p.accept("#") {
		hash := p.word()
		if p.err != nil {
			return
		}
		if p.side != nil {
			v.Const = p.side.Lookup(hash)
		}
		switch {
		case v.Const == nil:
			p.failAt(at, "no elements for constant %s#%s: they are in the .consts file beside the text", v.Type, hash)
		case !v.Const.Type().Equal(v.Type.With("")):
			p.failAt(at, "constant #%s has type %s instead of %s", hash, v.Const.Type(), v.Type)
		}
		return
	}
	p.expect("{")
	words := []string{}
	for !p.accept("}") && p.err == nil {
		if len(words) > 0 {
			p.expect(",")
		}
		words = append(words, p.number())
	}
	if p.err != nil {
		return
	}
	t, err := ofLiteral(v.Type.With(""), words)
	if err != nil {
		p.failAt(at, "constant: %w", err)
	}
	v.Const = t
}

// use reads an operand or an output.
func (p *parser) use(scope map[string]*Value) *Value {
	at, sigil, values := p.pos, "%", scope
	if p.is("@") {
		sigil, values = "@", p.consts
	}
	name := p.reference(sigil)
	v := values[name]
	if v == nil {
		p.failAt(at, "%s%s is not declared before", sigil, name)
	}
	return v
}

func (p *parser) node(scope map[string]*Value) *Node {
	at := p.pos
	n := &Node{}
	var results []declared
	for p.err == nil && !p.accept("=") {
		if n.Out != nil {
			p.expect(",")
		}
		d := p.declaration("%")
		if p.accept(":") {
			d.Type = p.tensorType()
		}
		d.Def, d.Index = n, len(n.Out)
		n.Out = append(n.Out, d.Value)
		results = append(results, d)
	}
	p.call(n, scope)
	if p.acceptWord("impl") {
		n.Impl = p.impl()
	}
	if p.acceptWord("why") {
		n.Why = p.quoted()
	}
	if p.acceptWord("origin") {
		n.Origin = append(n.Origin, p.quoted())
		for p.accept(",") {
			n.Origin = append(n.Origin, p.quoted())
		}
	}
	for p.isWord("graph") {
		n.Sub = append(n.Sub, p.graph())
	}
	if p.err != nil {
		return n
	}
	if err := n.settle(); err != nil {
		p.failAt(at, "%w", err)
	}
	for _, d := range results {
		p.open(scope, d)
	}
	return n
}

// call reads operator, operands and attributes.
func (p *parser) call(n *Node, scope map[string]*Value) {
	at := p.pos
	name := p.word()
	if p.err != nil {
		return
	}
	d, known := p.lookup(name)
	for _, s := range []*op.Def{Group, Loop, If, External, Composite} {
		if name == s.Name {
			d, known = s, true
		}
	}
	if !known {
		p.failAt(at, "unknown operator %q", name)
		return
	}
	n.Op = d
	p.expect("(")
	for !p.accept(")") && p.err == nil {
		if n.In != nil {
			p.expect(",")
		}
		n.In = append(n.In, p.use(scope))
	}
	n.Attrs = p.attrs(n.Op)
}

// settle completes a parsed node by inference: the types that the text leaves out, and known values.
func (n *Node) settle() error {
	given := make([]types.Tensor, len(n.Out))
	for i, v := range n.Out {
		given[i] = v.Type
	}
	if len(n.Out) == 0 {
		return fmt.Errorf("%s: no results", n.Op.Name)
	}
	if len(n.Sub) > 0 {
		if slices.ContainsFunc(given, func(t types.Tensor) bool { return t.DType == types.Invalid }) {
			return fmt.Errorf("%s: the types of the results of a node with sub-graphs must be given", n.Op.Name)
		}
		return nil
	}
	if n.Op.Infer == nil {
		return fmt.Errorf("%s: the operator has no inference", n.Op.Name)
	}
	if err := n.Infer(); err != nil {
		return err
	}
	for i, v := range n.Out {
		if t := given[i]; t.DType != types.Invalid && !v.Type.Equal(t) {
			return fmt.Errorf("%s: result %d has type %s, not %s", n.Op.Name, i, v.Type, t)
		}
	}
	return nil
}
