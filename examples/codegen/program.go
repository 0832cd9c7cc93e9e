package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// operations are the operators, each with its number in a program.
var operations = map[string]uint32{"Add": 0, "Sub": 1, "Mul": 2, "Div": 3}

// program writes the nodes as what the run-time module of module/arith.c computes them from: words of four bytes, little-endian,
//
//	"ARI1", inputs, constants, operations, outputs
//	of each constant:  elements, then these as float32
//	of each operation: what, left, right, elements
//	of each output:    its value
//
// Values are numbered: inputs, then constants, then results of operations.
func (m *model) program() ([]byte, error) {
	b := []byte("ARI1")
	word := func(v ...int) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	names := slices.Sorted(maps.Keys(m.constants))
	word(len(m.inputs), len(names), len(m.nodes), len(m.outputs))
	value := map[string]int{}
	for i, name := range m.inputs {
		value[name] = i
	}
	for _, name := range names {
		value[name] = len(value)
		word(len(m.constants[name]))
		for _, v := range m.constants[name] {
			word(int(math.Float32bits(v)))
		}
	}
	for _, n := range m.nodes {
		if why := m.refuses(n); why != "" {
			return nil, fmt.Errorf("node %q: %s", n.name, why)
		}
		word(int(operations[n.op]), value[n.inputs[0]], value[n.inputs[1]], int(elements(m.shapes[n.out[0]])))
		value[n.out[0]] = len(value)
	}
	for _, name := range m.outputs {
		word(value[name])
	}
	return b, nil
}
