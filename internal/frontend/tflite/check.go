package tflite

import "fmt"

// maxCalled bounds how many operators bodies of control flow are in all, counted wherever they are called.
const maxCalled = 1 << 20

// check verifies that each value is there before its use and that sub-graphs do not call each other without end.
func (m *model) check() error {
	for i, g := range m.graphs {
		if err := g.check(); err != nil {
			return fmt.Errorf("sub-graph %d: %w", i, err)
		}
	}
	const open = -1
	sizes := make([]int, len(m.graphs)) // operators, those of bodies included; 0: not known
	var visit func(i, depth int) error
	visit = func(i, depth int) error {
		switch {
		case sizes[i] == open || depth > maxNested:
			return fmt.Errorf("sub-graph %d: it calls itself, or sub-graphs nest more than %d deep", i, maxNested)
		case sizes[i] > 0:
			return nil
		}
		sizes[i] = open
		n := 1
		for _, o := range m.graphs[i].operators {
			n++
			for _, body := range o.bodies() {
				if body < 0 || body >= len(m.graphs) {
					return fmt.Errorf("%s calls sub-graph %d of %d: damaged", o.name, body, len(m.graphs))
				}
				if err := visit(body, depth+1); err != nil {
					return err
				}
				if n += sizes[body]; n > maxCalled {
					return fmt.Errorf("its sub-graphs call each other %d times and more, which is not supported", maxCalled)
				}
			}
		}
		sizes[i] = n
		return nil
	}
	for i := range m.graphs {
		if err := visit(i, 0); err != nil {
			return err
		}
	}
	return nil
}

// maxNested bounds how deep sub-graphs call each other.
const maxNested = 64

// bodies are the sub-graphs that the operator calls.
func (o *operator) bodies() []int {
	var list []int
	for _, name := range o.optionNames() {
		if f := schema[o.name][name]; f.kind == "graph" {
			list = append(list, o.options.i32(f.slot, 0))
		}
	}
	return list
}

func (g *subgraph) check() error {
	there := map[*tensorInfo]bool{}
	for _, x := range g.inputs {
		if there[x] {
			return fmt.Errorf("tensor %q is an input twice", x.name)
		}
		there[x] = true
	}
	known := func(x *tensorInfo) bool { return x == nil || there[x] || x.data != nil || x.variable }
	for i, o := range g.operators {
		for _, x := range o.in {
			if !known(x) && !x.empty() {
				return fmt.Errorf("operator %d (%s): tensor %q is read before it is computed", i, o.name, x.name)
			}
		}
		for _, x := range o.out {
			if x != nil && there[x] && !x.variable {
				return fmt.Errorf("operator %d (%s): tensor %q is computed twice", i, o.name, x.name)
			}
			there[x] = true
		}
	}
	for _, x := range g.outputs {
		if !known(x) && !x.empty() {
			return fmt.Errorf("output %q is not computed", x.name)
		}
	}
	return nil
}

// empty reports whether the tensor has no elements: a constant then needs no bytes.
func (x *tensorInfo) empty() bool {
	for _, n := range x.shape {
		if n == 0 {
			return true
		}
	}
	return false
}
