package compile

import (
	"fmt"
	"strings"
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
	flush, keep := o.Target.ISA().Instructions.Float.Denormals()
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
