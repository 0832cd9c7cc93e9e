package torch

import (
	"errors"
	"fmt"
	"strconv"
)

// expression reads a conditional expression or what binds tighter.
func (p *parser) expression() (expression, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("expressions are nested too deep")
	}
	defer func() { p.depth-- }()
	x, err := p.operators(0)
	if err != nil || !p.accept("if") {
		return x, err
	}
	condition, err := p.operators(0)
	if err != nil {
		return nil, err
	}
	if err := p.want("else"); err != nil {
		return nil, err
	}
	no, err := p.expression()
	return &condExpr{condition, x, no}, err
}

// levels are the operators by how tight they bind, the loosest first, with the function that each is.
var levels = []map[string]string{
	{"or": "or"}, {"and": "and"},
	{"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "in": "in", "is": "__is__"},
	{"|": "__or__"}, {"^": "__xor__"}, {"&": "__and__"}, {"<<": "__lshift__", ">>": "__rshift__"},
	{"+": "add", "-": "sub"}, {"*": "mul", "/": "div", "//": "floordiv", "%": "remainder", "@": "matmul"},
}

// operators reads operators of a level and tighter ones.
func (p *parser) operators(level int) (expression, error) {
	if level == len(levels) {
		return p.unary()
	}
	if level == 2 && p.is("not") {
		line := p.take().line
		x, err := p.operators(2)
		return &opExpr{"__not__", []expression{x}, line}, err
	}
	x, err := p.operators(level + 1)
	for err == nil {
		t := p.next()
		name, ok := levels[level][t.text]
		if !ok || t.kind == textToken {
			break
		}
		p.take()
		if name == "__is__" && p.accept("not") {
			name = "__isnot__"
		}
		var y expression
		if y, err = p.operators(level + 1); err == nil {
			x = &opExpr{name, []expression{x, y}, t.line}
		}
	}
	return x, err
}

// unary reads signs, and powers.
func (p *parser) unary() (expression, error) {
	t := p.next()
	if p.accept("-") {
		if p.depth++; p.depth > maxNesting {
			return nil, errors.New("expressions are nested too deep")
		}
		defer func() { p.depth-- }()
		x, err := p.unary()
		if c, ok := x.(*constExpr); ok && err == nil {
			switch v := c.value.(type) {
			case int64:
				return &constExpr{-v}, nil
			case float64:
				return &constExpr{-v}, nil
			}
		}
		return &opExpr{"neg", []expression{x}, t.line}, err
	}
	x, err := p.postfix()
	if err == nil && p.accept("**") {
		y, err := p.unary()
		return &opExpr{"pow", []expression{x, y}, t.line}, err
	}
	return x, err
}

// postfix reads calls, attributes and indices behind an atom.
func (p *parser) postfix() (expression, error) {
	x, err := p.atom()
	for err == nil {
		line := p.next().line
		switch {
		case p.next().kind == textToken:
			return x, nil
		case p.accept("."):
			var name string
			name, err = p.name()
			x = &attrExpr{x, name}
		case p.accept("("):
			call := &callExpr{function: x, line: line}
			x, err = call, p.arguments(call)
		case p.accept("["):
			var at expression
			at, err = p.index()
			x = &indexExpr{x, at}
		default:
			return x, nil
		}
	}
	return nil, err
}

// arguments reads those of a call, behind its bracket.
func (p *parser) arguments(call *callExpr) error {
	for !p.accept(")") {
		if len(p.tokens) > 1 && p.next().kind == nameToken && p.tokens[1].kind == signToken && p.tokens[1].text == "=" {
			call.names = append(call.names, p.take().text)
			p.take()
		} else if call.names != nil {
			return errors.New("an argument without a name behind one with a name")
		}
		x, err := p.expression()
		if err != nil {
			return err
		}
		call.args = append(call.args, x)
		if !p.accept(",") && !p.is(")") {
			return fmt.Errorf("%q within arguments", p.next().text)
		}
	}
	return nil
}

// index reads what stands in the square brackets behind a value.
func (p *parser) index() (expression, error) {
	var parts [3]expression
	n := 0
	for ; n < 3 && !p.is("]"); n++ {
		if !p.is(":") {
			x, err := p.expression()
			if err != nil {
				return nil, err
			}
			parts[n] = x
			if n == 0 && p.is(",") { // a tuple, as in Dict[str, int]
				items, err := p.items(",", "]", x)
				return &tupleExpr{items}, err
			}
		}
		if !p.accept(":") {
			n++
			break
		} else if p.is("]") {
			n++
		}
	}
	if err := p.want("]"); err != nil {
		return nil, err
	}
	if n == 1 && parts[0] != nil {
		return parts[0], nil
	}
	return &sliceExpr{parts[0], parts[1], parts[2]}, nil
}

// items reads a list up to its closing bracket; first are items that are read.
func (p *parser) items(sep, closing string, first ...expression) ([]expression, error) {
	if len(first) > 0 {
		p.take()
	}
	for !p.accept(closing) {
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		first = append(first, x)
		if !p.accept(sep) && !p.is(closing) {
			return nil, fmt.Errorf("%q within a list", p.next().text)
		}
	}
	return first, nil
}

// words are names with a value of their own.
var words = map[string]value{"None": nil, "True": true, "False": false}

// atom reads a literal, a name, or what stands in brackets.
func (p *parser) atom() (expression, error) {
	switch t := p.take(); t.kind {
	case nameToken:
		if v, ok := words[t.text]; ok {
			return &constExpr{v}, nil
		}
		return &nameExpr{t.text}, nil
	case intToken:
		v, err := strconv.ParseUint(t.text, 10, 64)
		return &constExpr{int64(v)}, err // 1<<63 is only ever negated
	case floatToken:
		v, err := strconv.ParseFloat(t.text, 64)
		if errors.Is(err, strconv.ErrRange) {
			err = nil
		}
		return &constExpr{v}, err
	case textToken:
		text := t.text
		for p.next().kind == textToken {
			text += p.take().text
		}
		return &constExpr{text}, nil
	case signToken:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			items, err := p.items(",", "]")
			return &listExpr{items}, err
		case "{":
			return p.dict()
		}
		return nil, fmt.Errorf("%q where a value has to be", t.text)
	}
	return nil, errors.New("the line ends where a value has to be")
}

// parenthesis is a value or a tuple.
func (p *parser) parenthesis() (expression, error) {
	if p.accept(")") {
		return &tupleExpr{}, nil
	}
	x, err := p.expression()
	if err != nil || p.accept(")") {
		return x, err
	}
	if !p.is(",") {
		return nil, fmt.Errorf("%q within brackets", p.next().text)
	}
	items, err := p.items(",", ")", x)
	return &tupleExpr{items}, err
}

func (p *parser) dict() (expression, error) {
	d := &dictExpr{}
	for !p.accept("}") {
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.want(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, k), append(d.values, v)
		if !p.accept(",") && !p.is("}") {
			return nil, fmt.Errorf("%q within a dictionary", p.next().text)
		}
	}
	return d, nil
}
