package torch

import (
	"errors"
	"fmt"
)

// A statement is one of the types below.
type statement any

type (
	assignStmt struct {
		targets []expression // names, attributes, indices, or tuples of these
		value   expression
		line    int
	}
	exprStmt struct {
		value expression
		line  int
	}
	ifStmt struct {
		condition expression
		yes, no   []statement
		line      int
	}
	forStmt struct {
		target   expression
		sequence expression
		body     []statement
		line     int
	}
	whileStmt struct {
		condition expression
		body      []statement
		line      int
	}
	withStmt struct {
		target expression // or nil
		value  expression
		body   []statement
		line   int
	}
	returnStmt struct {
		value expression // or nil
		line  int
	}
	raiseStmt struct {
		value expression
		line  int
	}
)

// A parameter of a function. absent is its default, nil where it has to be given.
type parameter struct {
	name   string
	of     expression // its type, or nil
	absent expression
}

// A function is what def defines, at the top of a file or in a class.
type function struct {
	name    string
	params  []parameter
	gives   expression // the type of what it returns, or nil
	body    []statement
	file    string
	unit    *unit
	inClass *class
}

// A class is a module, a tuple with names, or an enumeration.
type class struct {
	name      string // qualified
	bases     []string
	order     []string // attributes as declared
	attrs     map[string]expression
	constants map[string]expression
	methods   map[string]*function
	unit      *unit
}

// A unit is one file of code.
type unit struct {
	path      string
	classes   map[string]*class
	functions map[string]*function
}

// parse reads one file of code. name is its qualified name, such as __torch__.torch.nn.
func parse(src, path, name string) (*unit, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &parser{tokens: tokens}
	u := &unit{path: path, classes: map[string]*class{}, functions: map[string]*function{}}
	for p.next().kind != endToken {
		if err := p.top(u, name); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, p.next().line, err)
		}
	}
	return u, nil
}

// top reads a definition of a file.
func (p *parser) top(u *unit, name string) error {
	switch {
	case p.is("import") || p.is("from"):
		for p.next().kind != newlineToken && p.next().kind != endToken {
			p.take()
		}
		return p.newline()
	case p.is("def"):
		f, err := p.function(u, nil)
		if err == nil {
			u.functions[f.name] = f
		}
		return err
	case p.is("class"):
		c, err := p.class(u, name)
		if err == nil {
			u.classes[c.name[len(name)+1:]] = c
		}
		return err
	}
	_, err := p.statement() // such as op_version_set = 1
	return err
}

func (p *parser) newline() error {
	if t := p.next(); t.kind != newlineToken {
		return fmt.Errorf("%q behind a statement", t.text)
	}
	p.take()
	return nil
}

// block reads the indented lines behind a colon, each by one.
func (p *parser) block(one func() error) error {
	if err := p.want(":"); err != nil {
		return err
	}
	if err := p.newline(); err != nil {
		return err
	}
	if p.next().kind != indentToken {
		return errors.New("a block without lines")
	}
	p.take()
	for p.next().kind != dedentToken {
		if p.next().kind == endToken {
			return nil
		}
		if err := one(); err != nil {
			return err
		}
	}
	p.take()
	return nil
}

// statements reads a block of statements.
func (p *parser) statements() (list []statement, err error) {
	err = p.block(func() error {
		s, err := p.statement()
		if err == nil && s != nil {
			list = append(list, s)
		}
		return err
	})
	return list, err
}

func (p *parser) class(u *unit, prefix string) (*class, error) {
	p.take()
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	c := &class{name: prefix + "." + name, attrs: map[string]expression{}, constants: map[string]expression{}, methods: map[string]*function{}, unit: u}
	if p.accept("(") {
		items, err := p.items(",", ")")
		if err != nil {
			return nil, err
		}
		for _, b := range items {
			if n, ok := b.(*nameExpr); ok {
				c.bases = append(c.bases, n.name)
			}
		}
	}
	return c, p.block(func() error { return p.member(c) })
}

// member reads a line of a class: a method, or an attribute with its type, its value, or both.
func (p *parser) member(c *class) error {
	if p.is("def") {
		f, err := p.function(c.unit, c)
		if err == nil {
			c.methods[f.name] = f
		}
		return err
	}
	if p.accept("pass") {
		return p.newline()
	}
	target, err := p.expression()
	if err != nil {
		return err
	}
	name := ""
	if n, ok := target.(*nameExpr); ok {
		name = n.name
	}
	if p.accept(":") {
		of, err := p.expression()
		if err != nil {
			return err
		}
		c.declare(name, of)
	}
	if p.accept("=") {
		v, err := p.expression()
		if err != nil {
			return err
		}
		if at, ok := target.(*indexExpr); ok { // __annotations__["0"] = T
			if k, ok := at.at.(*constExpr); ok {
				if text, ok := k.value.(string); ok {
					c.declare(text, v)
				}
			}
		} else {
			c.constants[name] = v
		}
	}
	return p.newline()
}

func (c *class) declare(name string, of expression) {
	if c.attrs[name] == nil {
		c.order = append(c.order, name)
	}
	c.attrs[name] = of
}

func (p *parser) function(u *unit, c *class) (*function, error) {
	p.take()
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	f := &function{name: name, file: u.path, unit: u, inClass: c}
	if err := p.want("("); err != nil {
		return nil, err
	}
	for !p.accept(")") {
		if p.accept("*") { // only by name from here on
			if err := p.want(","); err != nil {
				return nil, err
			}
			continue
		}
		var a parameter
		if a.name, err = p.name(); err != nil {
			return nil, err
		}
		if p.accept(":") {
			if a.of, err = p.expression(); err != nil {
				return nil, err
			}
		}
		if p.accept("=") {
			if a.absent, err = p.expression(); err != nil {
				return nil, err
			}
		}
		f.params = append(f.params, a)
		if !p.accept(",") && !p.is(")") {
			return nil, fmt.Errorf("%q within parameters", p.next().text)
		}
	}
	if p.accept("->") {
		if f.gives, err = p.expression(); err != nil {
			return nil, err
		}
	}
	f.body, err = p.statements()
	return f, err
}

// statement reads one statement; nil for pass.
func (p *parser) statement() (statement, error) {
	line := p.next().line
	switch {
	case p.is("if"):
		return p.conditional()
	case p.accept("for"):
		return p.loop(line)
	case p.accept("while"):
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		body, err := p.statements()
		return &whileStmt{x, body, line}, err
	case p.accept("with"):
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		s := &withStmt{value: x, line: line}
		if p.accept("as") {
			if s.target, err = p.expression(); err != nil {
				return nil, err
			}
		}
		s.body, err = p.statements()
		return s, err
	case p.accept("pass"):
		return nil, p.newline()
	case p.accept("return"):
		if p.next().kind == newlineToken {
			return &returnStmt{nil, line}, p.newline()
		}
		x, err := p.tuple()
		if err != nil {
			return nil, err
		}
		return &returnStmt{x, line}, p.newline()
	case p.accept("raise"):
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		return &raiseStmt{x, line}, p.newline()
	}
	return p.assignment(line)
}

// tuple reads an expression, or several with commas between them.
func (p *parser) tuple() (expression, error) {
	x, err := p.expression()
	if err != nil || !p.is(",") {
		return x, err
	}
	items := []expression{x}
	for p.accept(",") {
		if k := p.next(); k.kind == newlineToken || k.kind == signToken && (k.text == "=" || k.text == ":") || k.kind == nameToken && k.text == "in" {
			break
		}
		if x, err = p.expression(); err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	return &tupleExpr{items}, nil
}

// assignment reads an expression, or values given to names.
func (p *parser) assignment(line int) (statement, error) {
	x, err := p.tuple()
	if err != nil {
		return nil, err
	}
	if p.accept(":") { // a type, which says nothing more
		if _, err := p.expression(); err != nil {
			return nil, err
		}
	}
	if !p.is("=") {
		return &exprStmt{x, line}, p.newline()
	}
	s := &assignStmt{line: line}
	for p.accept("=") {
		s.targets = append(s.targets, x)
		if x, err = p.tuple(); err != nil {
			return nil, err
		}
	}
	s.value = x
	return s, p.newline()
}

func (p *parser) conditional() (statement, error) {
	line := p.take().line
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	s := &ifStmt{condition: x, line: line}
	if s.yes, err = p.statements(); err != nil {
		return nil, err
	}
	switch {
	case p.is("elif"):
		if p.depth++; p.depth > maxNesting {
			return nil, errors.New("conditions are nested too deep")
		}
		no, err := p.conditional()
		p.depth--
		s.no = []statement{no}
		return s, err
	case p.accept("else"):
		s.no, err = p.statements()
	}
	return s, err
}

func (p *parser) loop(line int) (statement, error) {
	var targets []expression
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		targets = append(targets, &nameExpr{name})
		if !p.accept(",") {
			break
		}
	}
	s := &forStmt{target: targets[0], line: line}
	if len(targets) > 1 {
		s.target = &tupleExpr{targets}
	}
	if err := p.want("in"); err != nil {
		return nil, err
	}
	var err error
	if s.sequence, err = p.expression(); err != nil {
		return nil, err
	}
	s.body, err = p.statements()
	return s, err
}
