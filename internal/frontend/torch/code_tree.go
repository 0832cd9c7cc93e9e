package torch

import "strings"

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
	named  bool // given by name only
}

// A function is what def defines, at the top of a file or in a class.
type function struct {
	name   string
	params []parameter
	gives  expression // the type of what it returns, or nil
	body   []statement
	file   string
}

// A class is a module, a tuple with names, or an enumeration.
type class struct {
	name      string   // qualified
	tuple     bool     // it is a tuple with names
	order     []string // attributes as declared
	attrs     map[string]expression
	constants map[string]expression
	methods   map[string]*function
}

// A unit is one file of code.
type unit struct {
	path      string
	classes   map[string]*class
	functions map[string]*function
	calls     []namedCall
	defined   []definition // of decompositions only
}

// A definition is a function with its other names, which assignments behind it give. space is the class that it is in, or "".
type definition struct {
	space    string
	function *function
	others   []string
}

// names are all names of a function, separated by spaces.
func (d definition) names() string {
	all := append([]string{d.function.name}, d.others...)
	if d.space == "" {
		return strings.Join(all, " ")
	}
	return d.space + "." + strings.Join(all, " "+d.space+".")
}

// A namedCall is a call of what has a dotted name.
type namedCall struct {
	name string
	line int
}

// An expression is one of the types below. Types of values are written as expressions too.
type expression any

type (
	nameExpr  struct{ name string }
	constExpr struct{ value value }
	attrExpr  struct {
		of   expression
		name string
	}
	callExpr struct {
		function expression
		args     []expression
		names    []string // of the last args
		line     int
	}
	indexExpr struct {
		of expression
		at expression
	}
	sliceExpr struct{ from, to, step expression } // nil for those that are absent
	listExpr  struct{ items []expression }
	tupleExpr struct{ items []expression }
	dictExpr  struct{ keys, values []expression }
	condExpr  struct{ condition, yes, no expression }
	opExpr    struct {
		op   string // as torch names the function
		args []expression
		line int
	}
)
