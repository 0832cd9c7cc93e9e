package compile

import (
	"fmt"
	"math"
	"strings"

	"lathe/internal/codegen/llvm"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Denormals says what generated code does with floats that are smaller than the smallest normal number of their type, 2^-126
// for float32, of which most processors compute a hundred times as slowly.
type Denormals string

// Ways to compute with denormals.
const (
	DenormalsByTarget Denormals = ""      // flush where the target can
	DenormalsFlush    Denormals = "flush" // operands are taken as zero, and results become zero; the sign stays
	DenormalsKeep     Denormals = "keep"  // IEEE 754
)

// DenormalModes are the values that a user may name.
var DenormalModes = []string{string(DenormalsFlush), string(DenormalsKeep)}

// resolveDenormals refuses what the target cannot do, and chooses where nothing is asked for.
func (o *Options) resolveDenormals() error {
	flush, keep := llvm.Denormals(o.Target.Arch)
	switch {
	case o.Denormals == DenormalsByTarget && flush:
		o.Denormals = DenormalsFlush
	case o.Denormals == DenormalsByTarget:
		o.Denormals = DenormalsKeep
	case o.Denormals == DenormalsFlush && !flush:
		return fmt.Errorf("--denormals=flush: target %s computes with denormals as IEEE 754 says, and has no other mode (leave the flag out)", o.Target.Arch)
	case o.Denormals == DenormalsKeep && !keep:
		return fmt.Errorf("--denormals=keep: vectors of target %s take denormals as zero, and have no other mode (leave the flag out)", o.Target.Arch)
	case o.Denormals != DenormalsFlush && o.Denormals != DenormalsKeep:
		return fmt.Errorf("unknown way %q to compute with denormals (choose from %s)", o.Denormals, strings.Join(DenormalModes, ", "))
	}
	return nil
}

const denormalNote = "numbers below the smallest normal one occur, which the code takes as zero: --denormals=keep computes with them"

// leastNormal is the smallest normal number of what computes with a type, below which flushing makes zero of it. float16 is
// computed in float32, of which its own denormals are normal numbers.
func leastNormal(d types.DType) float64 {
	switch d {
	case types.F32, types.BF16:
		return 0x1p-126
	case types.F64:
		return 0x1p-1022
	}
	return 0
}

// hasDenormal reports whether an element would be flushed.
func hasDenormal(t *tensor.Tensor) bool {
	least := leastNormal(t.DType)
	for i := range t.Len() {
		if least == 0 {
			break
		}
		if v := math.Abs(t.Float(i)); v > 0 && v < least {
			return true
		}
	}
	return false
}
