package dim

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText bounds the length of an expression: what is longer is a name.
const maxText = 512

// functions are the spellings of exporters and of sympy, without regard to case.
var functions = map[string]struct {
	op          op
	least, most int // arguments
}{
	"floor": {floor, 1, 1}, "int": {floor, 1, 1}, "ceil": {ceil, 1, 1}, "ceiling": {ceil, 1, 1}, "abs": {absolute, 1, 1},
	"min": {least, 1, 16}, "max": {greatest, 1, 16}, "mod": {modulo, 2, 2}, "floordiv": {floorDiv, 2, 2},
}

var functionNames = map[op]string{floor: "floor", ceil: "ceil", absolute: "abs", least: "min", greatest: "max"}

// Parse reads an expression. Numbers, names, + - * / // % ** and parentheses have Python's meaning, ^ is **; the functions
// are floor, ceil, ceiling, int, abs, min, max, mod and floordiv.
func Parse(text string) (*Expr, error) {
	e, _, err := parse(text)
	return e, err
}

var errForm = errors.New("not an expression over sizes")

// parse also tells whether the text may as well be a name: "batch-size", "N/A" and "axis-1" join names or numbers by a
// sign without blanks.
func parse(text string) (e *Expr, maybeName bool, err error) {
	if len(text) > maxText {
		return nil, false, errForm
	}
	p := &parser{rest: strings.TrimSpace(text)}
	maybeName = !strings.ContainsAny(p.rest, " \t+*()%^")
	e, err = p.binary(1)
	if err == nil && p.rest != "" {
		err = errForm
	}
	if err != nil {
		return nil, false, err
	}
	return e, maybeName && (e.op == sub || e.op == div || e.op == floorDiv), nil
}

type parser struct {
	rest  string
	depth int
}

// take drops the sign if the text goes on with it, and the blanks behind.
func (p *parser) take(sign string) bool {
	rest, ok := strings.CutPrefix(p.rest, sign)
	if ok {
		p.rest = strings.TrimLeft(rest, " \t")
	}
	return ok
}

// infix are the signs at a level of binding, longer ones first.
var infix = [...][]struct {
	sign string
	op   op
}{1: {{"+", add}, {"-", sub}}, 2: {{"//", floorDiv}, {"*", mul}, {"/", div}, {"%", modulo}}}

// binary reads operands of one level of binding and the signs between them.
func (p *parser) binary(level int) (*Expr, error) {
	if level == len(infix) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
next:
	for {
		if strings.HasPrefix(p.rest, "**") {
			return left, nil
		}
		for _, s := range infix[level] {
			if !p.take(s.sign) {
				continue
			}
			right, err := p.binary(level + 1)
			if err != nil {
				return nil, err
			}
			left = &Expr{op: s.op, args: []*Expr{left, right}}
			continue next
		}
		return left, nil
	}
}

// unary reads -x, and x ** y, which binds more tightly.
func (p *parser) unary() (*Expr, error) {
	if p.depth++; p.depth > 64 {
		return nil, errForm
	}
	defer func() { p.depth-- }()
	if p.take("-") {
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Expr{op: negate, args: []*Expr{x}}, nil
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	if p.take("**") || p.take("^") {
		y, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Expr{op: power, args: []*Expr{x, y}}, nil
	}
	return x, nil
}

func (p *parser) primary() (*Expr, error) {
	if p.take("(") {
		e, err := p.binary(1)
		if err == nil && !p.take(")") {
			err = errForm
		}
		return e, err
	}
	if word := p.word(func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }); word != "" {
		n, ok := ratio(word)
		if next, _ := utf8.DecodeRuneInString(p.rest); !ok || p.rest != "" && nameRune(next) {
			return nil, errForm
		}
		p.skip()
		return &Expr{op: number, num: n}, nil
	}
	name := p.word(nameRune)
	if name == "" {
		return nil, errForm
	}
	p.skip()
	f, known := functions[strings.ToLower(name)]
	if !known || !p.take("(") {
		return Name(name), nil
	}
	return p.call(f.op, f.least, f.most)
}

// call reads the arguments of a function.
func (p *parser) call(o op, least, most int) (*Expr, error) {
	e := &Expr{op: o}
	for {
		a, err := p.binary(1)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, a)
		switch {
		case p.take(",") && len(e.args) < most:
		case p.take(")") && len(e.args) >= least && len(e.args) <= most:
			return e, nil
		default:
			return nil, errForm
		}
	}
}

// word takes the runes that fit.
func (p *parser) word(fits func(rune) bool) string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !fits(r) })
	if end < 0 {
		end = len(p.rest)
	}
	w := p.rest[:end]
	p.rest = p.rest[end:]
	return w
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

func nameRune(r rune) bool {
	return r == '_' || r == '.' || r == ':' || r == '$' || r == '@' || r == '#' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
