package torch

// walk calls visit for every expression in statements.
func walk(body []statement, visit func(x expression, line int)) {
	for _, s := range body {
		switch s := s.(type) {
		case *assignStmt:
			for _, t := range s.targets {
				walkExpression(t, s.line, visit)
			}
			walkExpression(s.value, s.line, visit)
		case *exprStmt:
			walkExpression(s.value, s.line, visit)
		case *ifStmt:
			walkExpression(s.condition, s.line, visit)
			walk(s.yes, visit)
			walk(s.no, visit)
		case *forStmt:
			walkExpression(s.sequence, s.line, visit)
			walk(s.body, visit)
		case *whileStmt:
			walkExpression(s.condition, s.line, visit)
			walk(s.body, visit)
		case *withStmt:
			walkExpression(s.value, s.line, visit)
			walk(s.body, visit)
		case *returnStmt:
			walkExpression(s.value, s.line, visit)
		case *raiseStmt:
			walkExpression(s.value, s.line, visit)
		}
	}
}

// walkExpression calls visit for an expression and those within it.
func walkExpression(x expression, line int, visit func(x expression, line int)) {
	if x == nil {
		return
	}
	visit(x, line)
	each := func(list ...expression) {
		for _, y := range list {
			walkExpression(y, line, visit)
		}
	}
	switch x := x.(type) {
	case *attrExpr:
		each(x.of)
	case *callExpr:
		each(x.function)
		each(x.args...)
	case *indexExpr:
		each(x.of, x.at)
	case *sliceExpr:
		each(x.from, x.to, x.step)
	case *listExpr:
		each(x.items...)
	case *tupleExpr:
		each(x.items...)
	case *dictExpr:
		each(x.keys...)
		each(x.values...)
	case *condExpr:
		each(x.condition, x.yes, x.no)
	case *opExpr:
		each(x.args...)
	}
}
