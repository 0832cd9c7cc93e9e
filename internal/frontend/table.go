package frontend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
)

// A Row says what an operator becomes from a version on. A row holds until a newer one of the same operator.
type Row struct {
	Op, Domain string
	Since      int
	Convert    func(c *Call) []*graph.Value // the node's results; see Call
}

// A Table is what a format's operators become.
type Table struct {
	byOperator map[operator][]Row // newest first
	dynamic    map[operator]bool
	choice     string
}

type operator struct{ domain, op string }

// NewTable makes a table of rows. dynamic are operators without domain that are converted without a look at extents: only these
// may read a value whose extent depends on data. choice is the operator without domain that runs one of its bodies, "" where there is none.
func NewTable(rows []Row, dynamic []string, choice string) *Table {
	t := &Table{byOperator: map[operator][]Row{}, dynamic: map[operator]bool{}, choice: choice}
	for _, r := range rows {
		k := operator{r.Domain, r.Op}
		t.byOperator[k] = append(t.byOperator[k], r)
	}
	for _, rows := range t.byOperator {
		slices.SortStableFunc(rows, func(a, b Row) int { return b.Since - a.Since })
	}
	for _, op := range dynamic {
		t.dynamic[operator{op: op}] = true
	}
	return t
}

// Find returns the newest row that is not newer than n's version, or nil.
func (t *Table) Find(n *Node) *Row {
	rows := t.byOperator[operator{n.Domain, n.Op}]
	for i := range rows {
		if rows[i].Since <= n.Version {
			return &rows[i]
		}
	}
	return nil
}

// A Supported is one line of the list of supported operators.
type Supported struct {
	Op, Domain string
	Since      []int // versions whose meaning is converted separately
}

// Rows lists the supported operators by domain and name.
func (t *Table) Rows() []Supported {
	var list []Supported
	for k, rows := range t.byOperator {
		r := Supported{Op: k.op, Domain: k.domain}
		for _, x := range slices.Backward(rows) {
			r.Since = append(r.Since, x.Since)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Supported) int { return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Op, b.Op)) })
	return list
}

// A Missing is an operator of a model that no row converts.
type Missing struct {
	Op    string // with its domain, where it has one
	Nodes int
	First string // the first node that applies it
}

// An UnsupportedError lists all operators of a model that are not supported.
type UnsupportedError struct{ Operators []Missing }

func (e *UnsupportedError) Error() string {
	parts := make([]string, len(e.Operators))
	for i, m := range e.Operators {
		nodes := "nodes"
		if m.Nodes == 1 {
			nodes = "node"
		}
		parts[i] = fmt.Sprintf("%s (%d %s, first %q)", m.Op, m.Nodes, nodes, m.First)
	}
	operators := "operators"
	if len(parts) == 1 {
		operators = "operator"
	}
	const named = 20
	all := len(parts)
	if all > named {
		parts = append(parts[:named], fmt.Sprintf("and %d more (lathe inspect lists them)", all-named))
	}
	return fmt.Sprintf("%d unsupported %s: %s", all, operators, strings.Join(parts, ", "))
}

// Unsupported lists the operators of a model that Import does not convert, in order of first use, those in bodies of
// control flow included.
func Unsupported(m *Model) []Missing { return m.Table.unsupported(m.Graph, true) }

// unsupported lists what no row converts among the nodes that outputs need. The bodies of the table's choice count only with
// branches: the one that is not taken may hold anything.
func (t *Table) unsupported(g *Graph, branches bool) []Missing {
	var list []Missing
	place := map[string]int{}
	var visit func(g *Graph)
	visit = func(g *Graph) {
		needed, _ := g.needs()
		for i, n := range g.Nodes {
			if !needed[i] {
				continue
			}
			if t.Find(n) == nil {
				at, seen := place[n.Qualified()]
				if !seen {
					at = len(list)
					place[n.Qualified()] = at
					list = append(list, Missing{Op: n.Qualified(), First: n.Origin()})
				}
				list[at].Nodes++
			}
			if n.Op == t.choice && !branches {
				continue
			}
			for _, sub := range n.Sub {
				visit(sub)
			}
		}
	}
	visit(g)
	return list
}
