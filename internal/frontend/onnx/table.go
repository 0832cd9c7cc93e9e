package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A row says what an operator becomes from an opset version on. A row holds until a newer one of the same operator.
type row struct {
	op, domain string
	since      int
	convert    func(c *call) values
}

// table lists every operator that Import converts; each family stands with its functions.
var table = slices.Concat(dynamicRows, elementwiseRows, reduceRows, moveRows, imageRows, indexRows, nnRows, normRows, quantRows,
	controlRows, sequenceRows, recurrentRows, constantRows, attentionRows, lossRows, signalRows, einsumRows, qlinearRows, microsoftRows)

type operator struct{ domain, op string }

// An index holds the rows of each operator, newest first.
type index map[operator][]row

var byOperator = func() index {
	m := index{}
	for _, r := range table {
		k := operator{r.domain, r.op}
		m[k] = append(m[k], r)
	}
	for _, rows := range m {
		slices.SortStableFunc(rows, func(a, b row) int { return b.since - a.since })
	}
	return m
}()

// find returns the newest row that is not newer than n's version of its operator set, or nil.
func (m index) find(n *Node) *row {
	rows := m[operator{n.Domain, n.OpType}]
	for i := range rows {
		if rows[i].since <= n.Version {
			return &rows[i]
		}
	}
	return nil
}

// A Row is one line of the list of supported operators.
type Row struct {
	Op, Domain string
	Since      []int // opset versions whose meaning is converted separately
}

// Rows lists the supported operators by domain and name.
func Rows() []Row {
	var list []Row
	for k, rows := range byOperator {
		r := Row{Op: k.op, Domain: k.domain}
		for _, x := range slices.Backward(rows) {
			r.Since = append(r.Since, x.since)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Op, b.Op)) })
	return list
}

// A Missing is an operator of a model that no row converts.
type Missing struct {
	Op    string // with its domain, unless that is ai.onnx
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
// control flow included. Calls of local functions are not operators: Expand them first.
func Unsupported(m *Model) []Missing { return unsupported(m.Graph, true) }

// unsupported lists what no row converts among the nodes that outputs need. A branch of If counts only with branches:
// the one that is not taken may hold anything.
func unsupported(g *Graph, branches bool) []Missing {
	var list []Missing
	place := map[string]int{}
	var visit func(g *Graph)
	visit = func(g *Graph) {
		needed := neededNodes(g)
		for i, n := range g.Nodes {
			if !needed[i] {
				continue
			}
			if byOperator.find(n) == nil {
				at, seen := place[n.Qualified()]
				if !seen {
					at = len(list)
					place[n.Qualified()] = at
					list = append(list, Missing{Op: n.Qualified(), First: n.describeFirst()})
				}
				list[at].Nodes++
			}
			if n.OpType == "If" && !branches {
				continue
			}
			for j := range n.Attrs {
				for _, sub := range n.Attrs[j].graphs() {
					visit(sub)
				}
			}
		}
	}
	visit(g)
	return list
}
