package compile

import (
	"fmt"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/lower"
	"lathe/internal/pass"
	"lathe/internal/target"
	"lathe/internal/types"
)

// sevenBits reports whether v holds weights of 7 bits, and the target has use for that: instructions that add two products of bytes to a
// number of 16 bits, which it saturates, where those are all that it has. 255 times 64, twice, stays below 2^15.
func sevenBits(t *target.Target, v *graph.Value) bool {
	return !t.HasDot && v.Const != nil && v.Type.DType == types.I8 && len(v.Type.Shape) >= 2 && pass.SevenBits(v.Const)
}

// sevenBitKey is equal for constants of which the same have 7 bits.
func sevenBitKey(t *target.Target, consts []*graph.Value) string {
	var b strings.Builder
	for i, v := range consts {
		if sevenBits(t, v) {
			fmt.Fprintf(&b, ";%d of 7 bits", i)
		}
	}
	return b.String()
}

// bound marks the parameters of a kernel that hold weights of 7 bits.
func bound(k *lower.Kernel, t *target.Target, values map[string]*graph.Value) {
	for i, p := range k.Params[:len(k.Params)-1] {
		if sevenBits(t, values[p.Name]) {
			k.Func.Params[i].Most = pass.MostOfSeven
		}
	}
}
