package torch

import (
	"slices"
	"strings"

	"lathe/internal/frontend"
)

// A table holds what operators become: those on numbers, lists and texts, which do not end up in the graph, and rows, by name.
type table struct {
	builtins map[string]func(m *machine, args []value) (result value, ok bool)
	rows     map[string][]row
}

func newTable() *table {
	t := &table{builtins: newBuiltins(), rows: map[string][]row{}}
	for _, r := range slices.Concat(binaryRows, unaryRows, activationRows, viewRows, moveRows, indexRows, createRows, convolutionRows, poolRows,
		normRows, linearRows, resizeRows, recurrentRows, signalRows, quantizedRows, castRows, sortRows, visionRows, decomposedRows()) {
		for name := range strings.FieldsSeq(r.names) {
			t.rows[name] = append(t.rows[name], r)
		}
	}
	return t
}

// supports reports whether an operator is one of the table.
func (t *table) supports(name string) bool {
	if t.rows[name] != nil || t.builtins[name] != nil || slices.Contains(graphOperators, name) {
		return true
	}
	plain, ok := strings.CutSuffix(name, "_")
	return ok && t.rows[plain] != nil
}

// listed are the operators of the table, for lists.
func listed() []frontend.Row {
	var list []frontend.Row
	t := newTable()
	for name := range t.rows {
		if strings.HasPrefix(name, "lathe.") { // of decompositions alone
			continue
		}
		list = append(list, frontend.Row{Op: name})
	}
	for name := range t.builtins {
		if t.rows[name] == nil {
			list = append(list, frontend.Row{Op: name})
		}
	}
	for _, name := range graphOperators {
		list = append(list, frontend.Row{Op: name})
	}
	return list
}

// Rows lists the supported operators by name.
func Rows() []frontend.Supported { return frontend.NewTable(listed(), nil, "").Rows() }
