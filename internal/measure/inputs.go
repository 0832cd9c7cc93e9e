package measure

import (
	"lathe/internal/executor"
	"math/rand/v2"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// fill sets all inputs of a network, in every run to the same: floats from -1 to 1, bytes below 128, zeros for other integers, which may
// be indices.
func fill(m *executor.Module) error {
	for i, info := range m.Info().Inputs {
		size, err := info.ByteSize()
		if err != nil {
			return err
		}
		d, err := types.ParseDType(info.DType)
		if err != nil {
			return err
		}
		v, r := tensor.Over(d, info.Shape, make([]byte, size)), rand.New(rand.NewPCG(0, uint64(i)))
		for k := range v.Len() {
			switch {
			case d == types.I8 || d == types.U8:
				v.SetInt(k, int64(r.IntN(128)))
			case d == types.Bool:
				v.SetInt(k, 1)
			case d.IsFloat():
				v.SetFloat(k, 2*r.Float64()-1)
			}
		}
		if err := m.SetInput(i, v.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
