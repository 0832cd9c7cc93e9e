package torch

// statement reads one statement; nil for pass.
func (p *parser) statement() statement {
	line := p.next().line
	switch {
	case p.accept("if"):
		return p.conditional(line)
	case p.accept("for"):
		s := &forStmt{line: line, target: p.names()}
		p.want("in")
		s.sequence, s.body = p.expression(), p.statements()
		return s
	case p.accept("while"):
		return &whileStmt{p.expression(), p.statements(), line}
	case p.accept("with"):
		s := &withStmt{value: p.expression(), line: line}
		if p.accept("as") {
			s.target = p.expression()
		}
		s.body = p.statements()
		return s
	}
	s := p.simple(line)
	p.newline()
	return s
}

// simple reads a statement of one line, but for the line's end; nil for pass.
func (p *parser) simple(line int) statement {
	switch {
	case p.accept("pass"):
		return nil
	case p.accept("return"):
		s := &returnStmt{line: line}
		if p.next().kind != newlineToken {
			s.value = p.tuple()
		}
		return s
	case p.accept("raise"):
		return &raiseStmt{p.expression(), line}
	}
	return p.assignment(line)
}

// tuple reads an expression, or several with commas between them.
func (p *parser) tuple() expression {
	items := []expression{p.expression()}
	if !p.is(",") {
		return items[0]
	}
	for p.accept(",") && p.next().kind != newlineToken && !p.is("=") && !p.is(":") {
		items = append(items, p.expression())
	}
	return &tupleExpr{items}
}

// names reads the names that a loop gives its items.
func (p *parser) names() expression {
	items := []expression{&nameExpr{p.ident()}}
	for p.accept(",") {
		items = append(items, &nameExpr{p.ident()})
	}
	if len(items) == 1 {
		return items[0]
	}
	return &tupleExpr{items}
}

// assignment reads an expression, or values given to names.
func (p *parser) assignment(line int) statement {
	x := p.tuple()
	if p.accept(":") { // a type, which says nothing more
		p.expression()
	}
	if !p.is("=") {
		return &exprStmt{x, line}
	}
	s := &assignStmt{line: line}
	for p.accept("=") {
		s.targets = append(s.targets, x)
		x = p.tuple()
	}
	s.value = x
	return s
}

func (p *parser) conditional(line int) statement {
	s := &ifStmt{condition: p.expression(), yes: p.statements(), line: line}
	if next := p.next(); p.accept("elif") {
		s.no = []statement{p.nested(func() expression { return p.conditional(next.line) })}
	} else if p.accept("else") {
		s.no = p.statements()
	}
	return s
}
