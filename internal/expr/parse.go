package expr

import (
	"math"
	"strconv"
	"strings"

	"lathe/internal/types"
)

// maxDepth bounds the nesting of parsed expressions: the parser recurses.
const maxDepth = 1000

// A Parser reads the text that Print writes. Vars and Sources are the names in scope; the caller changes them as it
// enters and leaves scopes.
type Parser struct {
	Scanner
	Vars    map[string]*Var
	Sources map[string]Source
	depth   int
}

// NewParser returns a parser at the first token of text, with empty scopes.
func NewParser(text string) *Parser {
	return &Parser{Scanner: NewScanner(text), Vars: map[string]*Var{}, Sources: map[string]Source{}}
}

// Parse reads one expression, all of text.
func Parse(text string, vars map[string]*Var, sources map[string]Source) (Expr, error) {
	p := NewParser(text)
	for n, v := range vars {
		p.Vars[n] = v
	}
	for n, s := range sources {
		p.Sources[n] = s
	}
	e := p.Expr()
	if p.Tok.Kind != EOF {
		p.Failf("%s after the expression", p.Tok)
	}
	return e, p.Err()
}

// Expr reads an expression and checks its types. It returns a placeholder after an error.
func (p *Parser) Expr() Expr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		p.Failf("expressions nested deeper than %d", maxDepth)
	}
	at := p.Tok
	e := p.operand()
	if p.err == nil {
		if err := Check(e); err != nil {
			p.FailAt(at, "%w", err)
		}
	}
	if p.err != nil {
		return Index(0)
	}
	return e
}

// Exprs reads expressions separated by commas up to the closing token, which it consumes.
func (p *Parser) Exprs(end string) []Expr {
	var list []Expr
	for !p.Accept(end) && p.err == nil {
		if list != nil {
			p.Expect(",")
		}
		list = append(list, p.Expr())
	}
	return list
}

// Type reads an element type.
func (p *Parser) Type() types.DType {
	name := p.Tok
	t, err := types.ParseDType(p.Take(Ident))
	if err != nil && p.err == nil {
		p.FailAt(name, "%w", err)
	}
	return t
}

func (p *Parser) operand() Expr {
	switch {
	case p.Tok.Kind == Number:
		return p.number("")
	case p.Accept("-"):
		return p.number("-")
	case p.Accept("("):
		return p.infix()
	case p.Is("nan"), p.Is("inf"):
		return p.number("")
	}
	at := p.Tok
	name := p.Take(Ident)
	switch {
	case p.Accept("("):
		return p.call(at, name)
	case p.Accept("["):
		src, ok := p.Sources[name]
		if !ok {
			p.FailAt(at, "no tensor or buffer %q", name)
		}
		return &Load{src, p.Exprs("]")}
	}
	v, ok := p.Vars[name]
	if !ok && p.err == nil {
		p.FailAt(at, "no variable %q", name)
	}
	return v
}

func (p *Parser) infix() Expr {
	a := p.Expr()
	sign := p.Take(Punct)
	var op Op
	found := false
	for _, o := range Ops() {
		if o.String() == sign && !o.Named() {
			op, found = o, true
		}
	}
	if !found {
		p.Failf("%q is no operator", sign)
	}
	b := p.Expr()
	p.Expect(")")
	return &Binary{op, a, b}
}

func (p *Parser) number(sign string) Expr {
	at := p.Tok
	if !p.Accept("nan") && !p.Accept("inf") {
		p.Take(Number)
	}
	text := sign + at.Text
	isFloat := at.Kind == Ident || strings.ContainsAny(at.Text, ".e")
	t := types.I64
	if isFloat {
		t = types.F32
	}
	if p.Accept(":") {
		t = p.Type()
	}
	if p.err != nil {
		return nil
	}
	if isFloat {
		bits := 64
		if t == types.F32 {
			bits = 32
		}
		v, err := strconv.ParseFloat(text, bits)
		if err != nil {
			p.FailAt(at, "%s is no %s", text, t)
		}
		if v != v {
			v = math.NaN() // ParseFloat's NaN of 32 bits has another payload
		}
		return &Float{v, t}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.FailAt(at, "%s is no %s", text, t)
	}
	return &Int{v, t}
}

func (p *Parser) call(at Token, name string) Expr {
	switch name {
	case "let":
		return p.let()
	case "select":
		if x := p.args(at, 3); x != nil {
			return &Select{x[0], x[1], x[2]}
		}
		return nil
	case "dot4", "dot2":
		if x := p.args(at, 4); x != nil {
			if d := dot(x); d != nil && name == "dot"+strconv.Itoa(d.Width()) {
				return d
			}
			p.FailAt(at, "%s takes a load, an axis, a load, an axis", name)
		}
		return nil
	}
	if to, ok := strings.CutPrefix(name, "bits."); ok {
		t, err := types.ParseDType(to)
		x := p.args(at, 1)
		if err != nil {
			p.Failf("%w", err)
		}
		if x == nil || err != nil {
			return nil
		}
		return &Bits{t, x[0]}
	}
	for _, o := range Ops() {
		if o.Named() && o.String() == name {
			if x := p.args(at, 2); x != nil {
				return &Binary{o, x[0], x[1]}
			}
			return nil
		}
	}
	for _, f := range Fns() {
		if f.String() == name {
			if x := p.args(at, 1); x != nil {
				return &Unary{f, x[0]}
			}
			return nil
		}
	}
	if t, err := types.ParseDType(name); err == nil {
		if x := p.args(at, 1); x != nil {
			return &Cast{t, x[0]}
		}
		return nil
	}
	p.FailAt(at, "no function %q", name)
	return nil
}

// args reads n operands and the closing parenthesis; it returns nil after an error.
func (p *Parser) args(at Token, n int) []Expr {
	x := p.Exprs(")")
	if p.err == nil && len(x) != n {
		p.FailAt(at, "%s of %d operands, not %d", at.Text, len(x), n)
	}
	if p.err != nil {
		return nil
	}
	return x
}

func (p *Parser) let() Expr {
	v := p.Define()
	p.Expect("=")
	value := p.Expr()
	p.Expect(";")
	p.Open(v)
	body := p.Expr()
	p.Close(v)
	p.Expect(")")
	return &Let{v, value, body}
}

// Define reads name ":" type as a new variable, which must not hide another one, and does not put it in scope yet.
func (p *Parser) Define() *Var {
	name := p.Name()
	p.Expect(":")
	return &Var{name, p.Type()}
}

// Name reads a name that no variable or source in scope has.
func (p *Parser) Name() string {
	at := p.Tok
	name := p.Take(Ident)
	_, isVar := p.Vars[name]
	_, isSource := p.Sources[name]
	switch {
	case p.err != nil:
	case isVar || isSource:
		p.FailAt(at, "%q is defined already", name)
	case !IsName(name):
		p.FailAt(at, "%q is a constant", name)
	}
	return name
}

// Open puts v in scope.
func (p *Parser) Open(v *Var) { p.Vars[v.Name] = v }

// Close takes v out of scope.
func (p *Parser) Close(v *Var) {
	if p.Vars[v.Name] == v {
		delete(p.Vars, v.Name)
	}
}
