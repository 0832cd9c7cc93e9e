package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// instructions are the operators, each as LLVM writes it.
var instructions = map[string]string{"Add": "fadd", "Sub": "fsub", "Mul": "fmul", "Div": "fdiv"}

// refuses says why the generator does not take a node, "" where it does.
func (m *model) refuses(n node) string {
	if instructions[n.op] == "" || len(n.inputs) != 2 || len(n.out) != 1 {
		return n.op + " is not Add, Sub, Mul or Div"
	}
	shape, ok := m.shapes[n.out[0]]
	if !ok {
		return "the result is no float32 tensor of known shape"
	}
	for _, in := range n.inputs {
		of, ok := m.shapes[in]
		if !ok || !slices.Equal(of, shape) && len(m.constants[in]) != 1 {
			return "an operand has another shape than the result"
		}
	}
	return ""
}

// generate writes a function that computes the nodes, element by element. All tensors of a chain have one shape; a region may have several
// chains, each with a loop.
func (m *model) generate(symbol string) (string, error) {
	var globals, b strings.Builder
	fmt.Fprintf(&b, "define void @%s(ptr noalias %%in, ptr noalias %%out, i32 %%worker, i32 %%workers) {\nentry:\n", symbol)
	address := map[string]string{} // of tensors, and of constants that are no single number
	for i, name := range m.inputs {
		fmt.Fprintf(&b, "  %%in.%d = getelementptr ptr, ptr %%in, i64 %d\n  %%x.%d = load ptr, ptr %%in.%d\n", i, i, i, i)
		address[name] = fmt.Sprintf("%%x.%d", i)
	}
	for i := range m.outputs {
		fmt.Fprintf(&b, "  %%out.%d = getelementptr ptr, ptr %%out, i64 %d\n  %%y.%d = load ptr, ptr %%out.%d\n", i, i, i, i)
	}
	for _, name := range slices.Sorted(maps.Keys(m.constants)) {
		if values := m.constants[name]; len(values) > 1 {
			address[name] = fmt.Sprintf("@c.%d", len(address))
			fmt.Fprintf(&globals, "%s = internal constant [%d x float] [%s]\n", address[name], len(values), numbers(values))
		}
	}
	var sizes []int64
	for _, n := range m.nodes {
		if why := m.refuses(n); why != "" {
			return "", fmt.Errorf("node %q: %s", n.name, why)
		}
		if size := elements(m.shapes[n.out[0]]); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	last := "entry"
	for k, size := range sizes {
		fmt.Fprintf(&b, "  br label %%loop.%d\nloop.%d:\n  %%i.%d = phi i64 [ 0, %%%s ], [ %%next.%d, %%loop.%d ]\n", k, k, k, last, k, k)
		m.element(&b, k, size, address)
		fmt.Fprintf(&b, "  %%next.%d = add i64 %%i.%d, 1\n  %%more.%d = icmp ult i64 %%next.%d, %d\n  br i1 %%more.%d, label %%loop.%d, label %%end.%d\nend.%d:\n", k, k, k, k, size, k, k, k, k)
		last = fmt.Sprintf("end.%d", k)
	}
	b.WriteString("  ret void\n}\n")
	return globals.String() + b.String(), nil
}

// element computes element i of all tensors of a size.
func (m *model) element(b *strings.Builder, k int, size int64, address map[string]string) {
	value := map[string]string{}
	operand := func(name string) string {
		if c := m.constants[name]; len(c) == 1 {
			return number(c[0])
		}
		if value[name] == "" {
			id := fmt.Sprintf("%d.%d", k, len(value))
			fmt.Fprintf(b, "  %%p.%s = getelementptr float, ptr %s, i64 %%i.%d\n  %%l.%s = load float, ptr %%p.%s\n", id, address[name], k, id, id)
			value[name] = "%l." + id
		}
		return value[name]
	}
	for _, n := range m.nodes {
		if elements(m.shapes[n.out[0]]) != size {
			continue
		}
		x, y := operand(n.inputs[0]), operand(n.inputs[1])
		id := fmt.Sprintf("%d.%d", k, len(value))
		fmt.Fprintf(b, "  %%v.%s = %s float %s, %s\n", id, instructions[n.op], x, y)
		value[n.out[0]] = "%v." + id
		for i, name := range m.outputs {
			if name == n.out[0] {
				fmt.Fprintf(b, "  %%q.%s = getelementptr float, ptr %%y.%d, i64 %%i.%d\n  store float %%v.%s, ptr %%q.%s\n", id, i, k, id, id)
			}
		}
	}
}

// number is a float as LLVM reads it exactly: the bits of the same number as a double.
func number(v float32) string { return fmt.Sprintf("0x%016X", math.Float64bits(float64(v))) }

func numbers(values []float32) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = "float " + number(v)
	}
	return strings.Join(list, ", ")
}
