package torch

import (
	"errors"
	"fmt"
)

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
