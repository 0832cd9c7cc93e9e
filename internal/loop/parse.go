package loop

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// maxNesting bounds how deep parsed statements nest: the parser and its users recurse.
const maxNesting = 2000

// Parse reads one function, as Func.String prints it. The result has the types its nodes need, but is not verified.
func Parse(text string) (*Func, error) {
	all, err := ParseAll(text)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("loop: %d functions where one is expected", len(all))
	}
	return all[0], nil
}

// ParseAll reads functions that follow one another. // starts a comment.
func ParseAll(text string) ([]*Func, error) {
	var all []*Func
	p := &parser{Parser: expr.NewParser(text)}
	for p.Tok.Kind != expr.EOF {
		all = append(all, p.function())
	}
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("loop: %w", err)
	}
	return all, nil
}

type parser struct {
	*expr.Parser
	depth int
}

func (p *parser) function() *Func {
	p.Expect("func")
	f := &Func{Name: p.label()}
	p.Expect("(")
	for !p.Accept(")") && p.Err() == nil {
		if f.Params != nil {
			p.Expect(",")
		}
		b := p.buffer()
		p.open(b)
		f.Params = append(f.Params, b)
	}
	f.Body = p.braces()
	for _, b := range f.Params {
		p.close(b)
	}
	return f
}

// label reads the name of a function or block, quoted where it is no plain name.
func (p *parser) label() string {
	if p.Tok.Kind == expr.Quoted {
		return p.Take(expr.Quoted)
	}
	return p.Take(expr.Ident)
}

// name reads the name of a new variable or buffer.
func (p *parser) name() string {
	at := p.Tok
	n := p.Name()
	if slices.Contains(keywords, n) {
		p.FailAt(at, "%q is a keyword", n)
	}
	return n
}

func (p *parser) open(b *Buffer) {
	if p.Err() == nil {
		p.Sources[b.Name] = b
	}
}

func (p *parser) close(b *Buffer) {
	if p.Sources[b.Name] == expr.Source(b) {
		delete(p.Sources, b.Name)
	}
}

func (p *parser) buffer() *Buffer {
	b := &Buffer{Name: p.name()}
	p.Expect(":")
	b.DType = p.Type()
	b.Shape = p.ints()
	if p.Accept("align") {
		b.Align = p.Int()
	}
	if p.Accept("atmost") {
		b.Most = p.Int()
	}
	for s := Global; s <= Tiles; s++ {
		if p.Accept(s.String()) {
			b.Scope = s
			break
		}
	}
	return b
}

func (p *parser) ints() []int {
	v := []int{}
	p.Expect("[")
	for !p.Accept("]") && p.Err() == nil {
		if len(v) > 0 {
			p.Expect(",")
		}
		v = append(v, p.Int())
	}
	return v
}

func (p *parser) braces() Stmt {
	p.Expect("{")
	s := p.rest()
	p.Expect("}")
	return s
}

// rest reads the statements up to a closing brace.
func (p *parser) rest() Stmt {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		p.Failf("statements nested deeper than %d", maxNesting)
	}
	all := []Stmt{}
	for !p.Is("}") && p.Tok.Kind != expr.EOF {
		all = append(all, p.stmt())
	}
	if len(all) == 1 {
		return all[0]
	}
	return &Seq{all}
}

func (p *parser) stmt() Stmt {
	for k := Serial; k <= Matrix; k++ {
		if p.Accept(k.String()) {
			return p.loop(k)
		}
	}
	switch {
	case p.Accept("if"):
		s := &If{Cond: p.typed(types.Bool), Then: p.braces()}
		if p.Accept("else") {
			s.Else = p.braces()
		}
		return s
	case p.Accept("let"):
		v := &expr.Var{Name: p.name()}
		p.Expect(":")
		v.Type = p.Type()
		p.Expect("=")
		s := &Let{Var: v, Value: p.typed(v.Type)}
		p.Open(v)
		s.Body = p.scoped()
		p.Close(v)
		return s
	case p.Accept("alloc"):
		s := &Alloc{Buffer: p.buffer()}
		p.open(s.Buffer)
		s.Body = p.scoped()
		p.close(s.Buffer)
		return s
	case p.Accept("block"):
		return p.computation()
	case p.Accept("prefetch"):
		return p.prefetch()
	}
	return p.store()
}

// scoped reads the body of a let or alloc: braces, or the rest of the enclosing ones.
func (p *parser) scoped() Stmt {
	if p.Is("{") {
		return p.braces()
	}
	return p.rest()
}

// typed reads an expression of type t.
func (p *parser) typed(t types.DType) expr.Expr {
	at := p.Tok
	e := p.Expr()
	if p.Err() == nil && e.DType() != t {
		p.FailAt(at, "%s has type %s where %s is expected", expr.String(e), e.DType(), t)
	}
	return e
}

func (p *parser) loop(k Kind) Stmt {
	f := &For{Var: expr.NewVar(p.name()), Kind: k}
	p.Expect("in")
	f.Min = p.typed(types.I64)
	p.Expect("..")
	at := p.Tok
	if p.Accept("+") {
		f.Extent = p.typed(types.I64)
	} else {
		end := p.typed(types.I64)
		lo, known := expr.IntOf(f.Min)
		hi, endKnown := expr.IntOf(end)
		switch {
		case known && lo == 0:
			f.Extent = end
		case known && endKnown && (hi > lo) == (hi-lo > 0):
			f.Extent = &expr.Int{V: hi - lo, Type: types.I64}
		default:
			p.FailAt(at, "an extent, ..+n, is expected after bounds that are not constant")
		}
	}
	p.Open(f.Var)
	f.Body = p.braces()
	p.Close(f.Var)
	return f
}

func (p *parser) store() *Store {
	at := p.Tok
	name := p.Take(expr.Ident)
	b, ok := p.Sources[name].(*Buffer)
	if !ok {
		p.FailAt(at, "no statement, and no buffer %q", name)
		return nil
	}
	p.Expect("[")
	s := &Store{To: b, Index: p.Exprs("]")}
	p.Expect("=")
	s.Value = p.typed(b.DType.Compute())
	return s
}

func (p *parser) prefetch() *Prefetch {
	at := p.Tok
	name := p.Take(expr.Ident)
	b, ok := p.Sources[name].(*Buffer)
	if !ok {
		p.FailAt(at, "no buffer %q", name)
		return nil
	}
	p.Expect("at")
	s := &Prefetch{From: b, At: p.typed(types.I64)}
	p.Expect("lines")
	s.Lines = p.Int()
	s.Near = p.Accept("near")
	s.Write = p.Accept("write")
	return s
}

func (p *parser) computation() Stmt {
	b := &Block{Name: p.label()}
	p.Expect("(")
	for !p.Accept(")") && p.Err() == nil {
		if b.Iters != nil {
			p.Expect(",")
		}
		at := p.Tok
		it := Iter{Var: expr.NewVar(p.name())}
		if slices.ContainsFunc(b.Iters, func(o Iter) bool { return o.Var.Name == it.Var.Name }) {
			p.FailAt(at, "two iteration variables %q", it.Var.Name)
		}
		p.Expect(":")
		it.Reduce = p.Accept("reduce")
		it.Extent = p.Int()
		p.Expect("=")
		it.Binding = p.typed(types.I64)
		b.Iters = append(b.Iters, it)
	}
	for _, it := range b.Iters {
		p.Open(it.Var)
	}
	if p.Accept("where") {
		b.Where = p.typed(types.Bool)
	}
	p.Expect("{")
	if p.Accept("init") {
		b.Init = p.store()
	}
	b.Body = p.store()
	p.Expect("}")
	for _, it := range b.Iters {
		p.Close(it.Var)
	}
	return b
}
