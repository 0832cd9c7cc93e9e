package torch

// sumOf is the sum of the numbers in a list.
func sumOf(m *machine, args []value) (value, bool) {
	if len(args) != 1 {
		return nil, false
	}
	l, ok := args[0].(*list)
	if !ok {
		return nil, false
	}
	var sum value = int64(0)
	for _, v := range l.items {
		sum = m.operator("add", []value{sum, v}, nil)
	}
	return sum, true
}

// truths looks for a truth value in a list: any of them is true, or all are.
func truths(of bool) builtinFunc {
	return func(m *machine, args []value) (value, bool) {
		if len(args) != 1 {
			return nil, false
		}
		l, ok := args[0].(*list)
		if !ok {
			return nil, false
		}
		for _, v := range l.items {
			yes, known := m.truth(v)
			if !known {
				fail("a list of truth values that depend on data, which is not supported")
			}
			if yes == of {
				return of, true
			}
		}
		return !of, true
	}
}
