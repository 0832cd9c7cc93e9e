package onnx

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe/internal/testkit/golden"
)

// TestDegenerate gives every line of rowsFile operands of rank 0 and with axes of extent 0, each operand by itself and all of one
// shape together, and lists what is refused in testdata/refused.golden: a line that comes or goes is a change to look at. What is
// imported is evaluated.
func TestDegenerate(t *testing.T) {
	text, err := os.ReadFile(rowsFile)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	tried := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, d := range degenerates(t, line) {
			tried++
			_, results, _ := strings.Cut(line, " -> ")
			c := parseRow(t, d+" -> "+results)
			c.types, c.want = nil, nil
			if err := c.check(); err != nil {
				fmt.Fprintf(&b, "%s: %v\n", d, err)
			}
		}
	}
	if tried < 500 {
		t.Errorf("%d uses", tried)
	}
	golden.Check(t, "refused", []byte(b.String()))
}

// operandType is an element type and the rest of an operand, a shape or values.
var operandType = regexp.MustCompile(`^([a-z]+[0-9]*)([\[{:].*)$`)

// degenerates are the uses of an operator that a line becomes when operands lose all axes, or the elements along one.
func degenerates(t *testing.T, line string) []string {
	left, _, _ := strings.Cut(line, " -> ")
	fields := strings.Fields(left)
	var uses []string
	// change gives operand i another shape, and with it all that have its shape.
	change := func(i int, shape []int, together bool) {
		old := operandType.FindStringSubmatch(fields[i])
		use := slices.Clone(fields)
		for k, f := range fields {
			if m := operandType.FindStringSubmatch(f); k == i || together && m != nil && m[2] == old[2] {
				use[k] = m[1] + strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
			}
		}
		if u := strings.Join(use, " "); !slices.Contains(uses, u) {
			uses = append(uses, u)
		}
	}
	for i, f := range fields[1:] {
		if f == "_" || strings.Contains(f, "=") {
			continue
		}
		x, constant := parseOperand(t, f)
		if constant && i > 0 {
			continue // it says how
		}
		for _, together := range []bool{false, true} {
			change(i+1, []int{}, together)
			for axis := range x.Shape {
				shape := slices.Clone(x.Shape)
				shape[axis] = 0
				change(i+1, shape, together)
			}
		}
	}
	return uses
}
