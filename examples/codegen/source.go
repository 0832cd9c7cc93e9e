package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// signs are the operators, each as C writes it.
var signs = map[string]string{"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}

// source writes the function of generate in C. All names but the function's are its own.
func (m *model) source(symbol string) (string, error) {
	var b strings.Builder
	address := map[string]string{}
	for i, name := range m.inputs {
		address[name] = fmt.Sprintf("((const float *)in[%d])[i]", i)
	}
	for i, name := range slices.Sorted(maps.Keys(m.constants)) {
		values := make([]string, len(m.constants[name]))
		for k, v := range m.constants[name] {
			values[k] = strconv.FormatFloat(float64(v), 'x', -1, 32) + "f"
		}
		fmt.Fprintf(&b, "static const float %s_c%d[] = {%s};\n", symbol, i, strings.Join(values, ", "))
		address[name] = fmt.Sprintf("%s_c%d[i]", symbol, i)
		if len(values) == 1 {
			address[name] = fmt.Sprintf("%s_c%d[0]", symbol, i)
		}
	}
	fmt.Fprintf(&b, "static void %s(const void *const *in, void *const *out, int32_t worker, int32_t workers) {\n  (void)in, (void)worker, (void)workers;\n", symbol)
	for k, n := range m.nodes {
		if why := m.refuses(n); why != "" {
			return "", fmt.Errorf("node %q: %s", n.name, why)
		}
		size := elements(m.shapes[n.out[0]])
		fmt.Fprintf(&b, "  static float v%d[%d];\n  for (int64_t i = 0; i < %d; i++) v%d[i] = %s %s %s;\n", k, size, size, k, address[n.inputs[0]], signs[n.op], address[n.inputs[1]])
		address[n.out[0]] = fmt.Sprintf("v%d[i]", k)
		for i, name := range m.outputs {
			if name == n.out[0] {
				fmt.Fprintf(&b, "  for (int64_t i = 0; i < %d; i++) ((float *)out[%d])[i] = v%d[i];\n", size, i, k)
			}
		}
	}
	b.WriteString("}\n")
	return b.String(), nil
}
