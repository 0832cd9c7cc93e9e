package torch

import "strconv"

// expression reads a conditional expression or what binds tighter.
func (p *parser) expression() expression {
	return p.nested(func() expression {
		x := p.operators(0)
		if !p.accept("if") {
			return x
		}
		condition := p.operators(0)
		p.want("else")
		return &condExpr{condition, x, p.expression()}
	})
}

// levels are the operators by how tight they bind, the loosest first, with the function that each is.
var levels = []map[string]string{
	{"or": "or"}, {"and": "and"},
	{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "in": "in", "is": "__is__"},
	{"|": "__or__"}, {"^": "__xor__"}, {"&": "__and__"}, {"<<": "__lshift__", ">>": "__rshift__"},
	{"+": "add", "-": "sub"}, {"*": "mul", "/": "div", "//": "floordiv", "%": "remainder", "@": "matmul"},
}

// operators reads operators of a level and tighter ones.
func (p *parser) operators(level int) expression {
	if level == len(levels) {
		return p.unary()
	}
	if line := p.next().line; level == 2 && p.accept("not") {
		return &opExpr{"__not__", []expression{p.nested(func() expression { return p.operators(2) })}, line}
	}
	x := p.operators(level + 1)
	for {
		t := p.next()
		name, ok := levels[level][t.text]
		if !ok || t.kind == textToken {
			return x
		}
		p.take()
		if name == "__is__" && p.accept("not") {
			name = "__isnot__"
		}
		x = &opExpr{name, []expression{x, p.operators(level + 1)}, t.line}
	}
}

// unary reads signs, and powers.
func (p *parser) unary() expression {
	line := p.next().line
	if p.accept("-") {
		x := p.nested(p.unary)
		if c, ok := x.(*constExpr); ok {
			switch v := c.value.(type) {
			case int64:
				return &constExpr{-v}
			case float64:
				return &constExpr{-v}
			}
		}
		return &opExpr{"neg", []expression{x}, line}
	}
	x := p.postfix()
	if p.accept("**") {
		return &opExpr{"pow", []expression{x, p.nested(p.unary)}, line}
	}
	return x
}

// postfix reads calls, attributes and indices behind an atom.
func (p *parser) postfix() expression {
	x := p.atom()
	for {
		line := p.next().line
		switch {
		case p.accept("."):
			x = &attrExpr{x, p.ident()}
		case p.accept("("):
			x = p.arguments(x, line)
		case p.accept("["):
			x = &indexExpr{x, p.index()}
		default:
			return x
		}
	}
}

// arguments reads those of a call, behind its bracket.
func (p *parser) arguments(function expression, line int) expression {
	call := &callExpr{function: function, line: line}
	if name := dotted(function); name != "" {
		p.unit.calls = append(p.unit.calls, namedCall{name, line})
	}
	for !p.accept(")") {
		if p.next().kind == nameToken && p.tokens[1].kind == signToken && p.tokens[1].text == "=" {
			call.names = append(call.names, p.take().text)
			p.take()
		} else if call.names != nil {
			p.fail("an argument without a name behind one with a name")
		}
		call.args = append(call.args, p.expression())
		p.comma(")", "arguments")
	}
	return call
}

// index reads what stands in the square brackets behind a value.
func (p *parser) index() expression {
	var parts [3]expression
	colons := 0
	for !p.accept("]") {
		switch {
		case p.accept(":"):
			if colons++; colons > 2 {
				p.fail("a slice of more than three parts")
			}
		case parts[colons] != nil && colons == 0 && p.accept(","): // a tuple, as in Dict[str, int]
			return &tupleExpr{append([]expression{parts[0]}, p.items("]")...)}
		case parts[colons] != nil:
			p.fail("%q within an index", p.next().text)
		default:
			parts[colons] = p.expression()
		}
	}
	if colons == 0 && parts[0] != nil {
		return parts[0]
	}
	return &sliceExpr{parts[0], parts[1], parts[2]}
}

// items reads a list up to its closing bracket.
func (p *parser) items(closing string) (list []expression) {
	for !p.accept(closing) {
		list = append(list, p.expression())
		p.comma(closing, "a list")
	}
	return list
}

// words are names with a value of their own.
var words = map[string]value{"None": nil, "True": true, "False": false}

// atom reads a literal, a name, or what stands in brackets.
func (p *parser) atom() expression {
	t := p.take()
	switch t.kind {
	case nameToken:
		if v, ok := words[t.text]; ok {
			return &constExpr{v}
		}
		return &nameExpr{t.text}
	case intToken:
		v, err := strconv.ParseUint(t.text, 0, 64)
		if err != nil {
			failAt(t.line, "the integer %.40s", t.text)
		}
		return &constExpr{int64(v)} // 1<<63 is only ever negated
	case floatToken:
		v, _ := strconv.ParseFloat(t.text, 64) // infinite where it is out of range
		return &constExpr{v}
	case textToken:
		for p.next().kind == textToken {
			t.text += p.take().text
		}
		return &constExpr{t.text}
	}
	switch {
	case t.text == "(" && t.kind == signToken:
		if p.accept(")") {
			return &tupleExpr{}
		}
		x := p.expression()
		if p.accept(",") {
			return &tupleExpr{append([]expression{x}, p.items(")")...)}
		}
		p.want(")")
		return x
	case t.text == "[":
		return &listExpr{p.items("]")}
	case t.text == "{":
		d := &dictExpr{}
		for !p.accept("}") {
			d.keys = append(d.keys, p.expression())
			p.want(":")
			d.values = append(d.values, p.expression())
			p.comma("}", "a dictionary")
		}
		return d
	}
	failAt(t.line, "%q where a value has to be", t.text)
	return nil
}
