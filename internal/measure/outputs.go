package measure

import (
	"bytes"
	"fmt"

	"lathe/internal/bundle"
	"lathe/internal/executor"
)

// Tolerances of the outputs of whole networks by other decisions, relative L2: rounding adds up over many kernels, and where integers are made
// of floats a last bit becomes a step of the integers.
const (
	wholeTolerance   = 1e-3
	roundedTolerance = 5e-2
)

// differingOutputs tells how the outputs of two packages of one network differ behind a run with equal inputs; "" where they do not. Outputs whose extents
// depend on the data are left out: what lies behind those extents is nobody's.
func differingOutputs(a, b *executor.Module) (string, error) {
	tolerance := wholeTolerance
	for _, s := range a.Info().ByName() {
		if s.Multiply == "int8" || s.Multiply == "uint8" {
			tolerance = roundedTolerance
		}
	}
	for i, o := range a.Info().Outputs {
		if len(o.Symbols) > 0 {
			continue
		}
		n, err := o.ByteSize()
		if err != nil {
			return "", err
		}
		var memory [2][]byte
		for k, m := range []*executor.Module{a, b} {
			if memory[k], err = m.MemoryAt(bundle.Place{Kind: bundle.InOutput, Index: i, Bytes: n}); err != nil {
				return "", err
			}
		}
		if bytes.Equal(memory[0], memory[1]) {
			continue
		}
		if text := differ(memory[0], memory[1], o.DType, tolerance); text != "" {
			return fmt.Sprintf("output %q: %s", o.Name, text), nil
		}
	}
	return "", nil
}
