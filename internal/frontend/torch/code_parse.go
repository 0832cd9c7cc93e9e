package torch

import (
	"fmt"
	"strings"

	"lathe/internal/compose"
)

// maxNesting bounds how deep expressions and conditions nest.
const maxNesting = 500

// A parser reads tokens. It fails, as fail does, at the first that does not fit.
type parser struct {
	tokens []token
	depth  int
	unit   *unit
	name   string // of the file, such as __torch__.torch.nn
	// defines says that definitions are listed.
	defines bool
}

// parse reads one file of code.
func parse(src, path, name string) (*unit, error) { return parseUnit(src, path, name, false) }

// parseUnit reads one file of code. With defines, which takes time with each pair of a function and an alias, it lists definitions.
func parseUnit(src, path, name string, defines bool) (*unit, error) {
	u := &unit{path: path, classes: map[string]*class{}, functions: map[string]*function{}}
	err := compose.Try(func() {
		p := &parser{tokens: lex(src), unit: u, name: name, defines: defines}
		for p.next().kind != endToken {
			p.top()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return u, nil
}

func (p *parser) fail(format string, args ...any) { failAt(p.next().line, format, args...) }

func (p *parser) next() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// is reports whether the next token is a sign or word.
func (p *parser) is(text string) bool {
	t := p.next()
	return (t.kind == signToken || t.kind == nameToken) && t.text == text
}

// accept takes the next token where it is a sign or word.
func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.take()
		return true
	}
	return false
}

func (p *parser) want(text string) {
	if !p.accept(text) {
		p.fail("%q where %q has to be", p.next().text, text)
	}
}

// ident takes a name.
func (p *parser) ident() string {
	if t := p.next(); t.kind != nameToken {
		p.fail("%q where a name has to be", t.text)
	}
	return p.take().text
}

func (p *parser) newline() {
	if t := p.take(); t.kind != newlineToken {
		failAt(t.line, "%q behind a statement", t.text)
	}
}

// nested runs f one level deeper.
func (p *parser) nested(f func() expression) expression {
	if p.depth++; p.depth > maxNesting {
		p.fail("expressions are nested too deep")
	}
	defer func() { p.depth-- }()
	return f()
}

// top reads a definition of a file.
func (p *parser) top() {
	switch {
	case p.is("import") || p.is("from"):
		for p.next().kind != newlineToken && p.next().kind != endToken {
			p.take()
		}
		p.newline()
	case p.accept("def"):
		f := p.function("")
		p.unit.functions[f.name] = f
	case p.accept("class"):
		p.class()
	default:
		if s, ok := p.statement().(*assignStmt); ok { // such as op_version_set = 1
			for _, to := range s.targets {
				p.unit.alias("", dotted(to), dotted(s.value))
			}
		}
	}
}

// block reads the indented lines behind a colon, each by one, or what stands on the same line.
func (p *parser) block(one func()) {
	p.want(":")
	if p.next().kind != newlineToken {
		p.nested(func() expression { one(); return nil })
		return
	}
	p.newline()
	if p.take().kind != indentToken {
		p.fail("a block without lines")
	}
	for p.next().kind != dedentToken && p.next().kind != endToken {
		one()
	}
	if p.next().kind == dedentToken {
		p.take()
	}
}

// statements reads a block of statements.
func (p *parser) statements() (list []statement) {
	p.block(func() {
		if s := p.statement(); s != nil {
			list = append(list, s)
		}
	})
	return list
}

func (p *parser) class() {
	name := p.ident()
	c := &class{name: p.name + "." + name, attrs: map[string]expression{}, constants: map[string]expression{}, methods: map[string]*function{}}
	p.unit.classes[name] = c
	if p.accept("(") {
		for _, b := range p.items(")") {
			c.tuple = c.tuple || dotted(b) == "NamedTuple"
		}
	}
	p.block(func() { p.member(c) })
}

// member reads a line of a class: a method, or an attribute with its type, its value, or both.
func (p *parser) member(c *class) {
	space := strings.TrimPrefix(c.name, p.name+".")
	switch {
	case p.accept("def"):
		f := p.function(space)
		c.methods[f.name] = f
		return
	case p.accept("pass"):
		p.newline()
		return
	}
	target := p.expression()
	name := dotted(target)
	if p.accept(":") {
		c.declare(name, p.expression())
	}
	names := []string{name}
	for p.accept("=") {
		v := p.expression()
		if p.is("=") {
			names = append(names, dotted(v))
		} else if at, ok := target.(*indexExpr); !ok {
			for _, n := range names {
				c.constants[n] = v
				p.unit.alias(space, n, dotted(v))
			}
		} else if k, ok := at.at.(*constExpr); ok { // __annotations__["0"] = T
			c.declare(fmt.Sprint(k.value), v)
		}
	}
	p.newline()
}

func (c *class) declare(name string, of expression) {
	if c.attrs[name] == nil {
		c.order = append(c.order, name)
	}
	c.attrs[name] = of
}

// alias gives another name to the definitions of a function in a class, or outside of any.
func (u *unit) alias(space, name, function string) {
	for i, d := range u.defined {
		if d.space == space && d.function.name == function {
			u.defined[i].others = append(d.others, name)
		}
	}
}

// function reads what stands behind def. space is the class that it is in.
func (p *parser) function(space string) *function {
	f := &function{name: p.ident(), file: p.unit.path}
	if p.defines {
		p.unit.defined = append(p.unit.defined, definition{space: space, function: f})
	}
	named := false
	p.want("(")
	for !p.accept(")") {
		if p.accept("*") { // only by name from here on
			p.want(",")
			named = true
			continue
		}
		a := parameter{name: p.ident(), named: named}
		if p.accept(":") {
			a.of = p.expression()
		}
		if p.accept("=") {
			a.absent = p.expression()
		}
		f.params = append(f.params, a)
		p.comma(")", "parameters")
	}
	if p.accept("->") {
		f.gives = p.expression()
	}
	f.body = p.statements()
	return f
}

// comma takes what separates the parts of a list, which the last one can do without.
func (p *parser) comma(closing, within string) {
	if !p.accept(",") && !p.is(closing) {
		p.fail("%q within %s", p.next().text, within)
	}
}
