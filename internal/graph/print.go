package graph

import (
	"strconv"
)

// Print gives the text of g, which Parse reads:
//
//	graph main(%data: float32[1,3,224,224]) {
//	  @conv1.weight = float32[64,3,7,7]#1a2b3c4d5e6f7081
//	  @0 = int64[2]{1, -1}
//	  %conv1: float32[1,64,112,112]:ABCD8b = nn.conv2d(%data, @conv1.weight) {strides=[2,2]} impl "conv2d_direct" why "..." origin "Conv_0"
//	  %1 "flat:0": float32[1,802816] = reshape(%conv1, @0)
//	  return %1
//	}
//
// Values stand under their own name where it can be an identifier and is not taken; elsewhere under a number, which is no
// name, with their name, if any, in quotes. The constants of the graph and of all sub-graphs are declared first. One of at
// most 8 elements is printed there, in row-major order; any other is named by type and content hash, and added to c, whose
// side file completes the text. c may be nil when only the text is wanted. Sub-graphs follow the line of their node.
//
// Broken graphs print too, with a question mark where a value does not belong; such text does not parse.
func Print(g *Graph, c *Consts) string {
	if c == nil {
		c = NewConsts()
	}
	p := &printer{consts: c, constNames: newNames()}
	p.graph(g, 0)
	return string(p.out)
}

// String is Print without the constants' bytes.
func (g *Graph) String() string { return Print(g, nil) }

type printer struct {
	out        []byte
	consts     *Consts
	constNames *names
	declared   bool // the outermost graph has declared the constants
}

// names gives the values of a graph, or the constants, their names in text.
type names struct {
	of    map[*Value]string
	taken map[string]bool
	next  int
}

func newNames() *names { return &names{of: map[*Value]string{}, taken: map[string]bool{}} }

// declare names v. The result is false when the name does not show what v.Name is.
func (s *names) declare(v *Value) (string, bool) {
	name, shows := v.Name, true
	if !isName(name) || s.taken[name] {
		shows = name == ""
		name = strconv.Itoa(s.next)
		s.next++
	}
	s.taken[name] = true
	s.of[v] = name
	return name, shows
}

// isName reports whether s can stand after % or @ as a value's own name: letters, digits and _ . / - with neither digit,
// dot nor dash in front.
func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && (isWordByte(s[0]) && !isDigit(s[0]) && s[0] != '.' || s[0] == '/')
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isNameByte(c byte) bool { return isWordByte(c) || c == '/' || c == '-' }

// isWordByte says what the names of operators and attributes are made of.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '.'
}

func (p *printer) text(s string) { p.out = append(p.out, s...) }

func (p *printer) quote(s string) { p.out = strconv.AppendQuote(p.out, s) }

func (p *printer) indent(depth int) {
	for range depth {
		p.text("  ")
	}
}

// list prints n things with commas between them.
func (p *printer) list(n int, one func(i int)) {
	for i := range n {
		if i > 0 {
			p.text(", ")
		}
		one(i)
	}
}

func (p *printer) graph(g *Graph, depth int) {
	p.indent(depth)
	p.text("graph ")
	if isName(g.Name) && g.Name[0] != '/' { // two slashes would start a comment
		p.text(g.Name)
	} else {
		p.quote(g.Name)
	}
	s := newNames()
	p.text("(")
	p.list(len(g.Inputs), func(i int) { p.declare(s, g.Inputs[i]) })
	p.text(") {\n")
	if !p.declared {
		p.declared = true
		p.constants(g, depth+1)
	}
	for _, n := range g.Nodes {
		p.node(s, n, depth+1)
	}
	p.indent(depth + 1)
	p.text("return")
	if len(g.Outputs) > 0 {
		p.text(" ")
	}
	p.list(len(g.Outputs), func(i int) { p.use(s, g.Outputs[i]) })
	p.text("\n")
	p.indent(depth)
	p.text("}\n")
}

// declare prints an input or a result with its type.
func (p *printer) declare(s *names, v *Value) {
	if v == nil {
		p.text("%?")
		return
	}
	p.name("%", s, v)
	p.text(": ")
	p.text(v.Type.String())
}

func (p *printer) name(sigil string, s *names, v *Value) {
	name, shows := s.declare(v)
	p.text(sigil)
	p.text(name)
	if !shows {
		p.text(" ")
		p.quote(v.Name)
	}
}

// constants declares what Graph.Constants lists, and survives broken graphs.
func (p *printer) constants(g *Graph, depth int) {
	declare := func(values []*Value) {
		for _, v := range values {
			if v != nil && v.Const != nil && p.constNames.of[v] == "" {
				p.constant(v, depth)
			}
		}
	}
	for _, n := range g.Nodes {
		if n == nil {
			continue
		}
		declare(n.In)
		for _, s := range n.Sub {
			if s != nil {
				p.constants(s, depth)
			}
		}
	}
	declare(g.Outputs)
}

func (p *printer) constant(v *Value, depth int) {
	p.indent(depth)
	p.name("@", p.constNames, v)
	p.text(" = ")
	p.text(v.Type.String())
	if lit, ok := literal(v.Const); ok {
		p.text(lit)
	} else {
		p.text("#")
		p.text(p.consts.Add(v.Const))
	}
	p.text("\n")
}

// use prints an operand or an output.
func (p *printer) use(s *names, v *Value) {
	if name, ok := p.constNames.of[v]; ok {
		p.text("@")
		p.text(name)
	} else if name, ok := s.of[v]; ok {
		p.text("%")
		p.text(name)
	} else {
		p.text("%?")
		if v != nil {
			p.text(v.Name)
		}
	}
}

func (p *printer) node(s *names, n *Node, depth int) {
	p.indent(depth)
	if n == nil || n.Op == nil {
		p.text("? = ?\n")
		return
	}
	// Operands are printed before the results get names, so that a node that reads its own result shows.
	line := p.out
	p.out = nil
	p.text(n.Op.Name)
	p.text("(")
	p.list(len(n.In), func(i int) { p.use(s, n.In[i]) })
	p.text(")")
	call := p.out
	p.out = line
	p.list(len(n.Out), func(i int) { p.declare(s, n.Out[i]) })
	p.text(" = ")
	p.out = append(p.out, call...)
	p.out = appendAttrs(p.out, n.Attrs)
	p.out = appendImpl(p.out, n.Impl)
	if n.Why != "" {
		p.text(" why ")
		p.quote(n.Why)
	}
	if len(n.Origin) > 0 {
		p.text(" origin ")
		p.list(len(n.Origin), func(i int) { p.quote(n.Origin[i]) })
	}
	p.text("\n")
	for _, sub := range n.Sub {
		if sub != nil {
			p.graph(sub, depth+1)
		}
	}
}
