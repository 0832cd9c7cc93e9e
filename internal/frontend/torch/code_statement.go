package torch

import "errors"

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
