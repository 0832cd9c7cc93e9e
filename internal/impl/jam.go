package impl

import (
	"slices"

	"lathe/internal/expr"
)

// decideJam asks how many vectors of a block are computed side by side, of the loops right around its lanes, as far as their iterations may be, and returns
// these loops as they are then. An exponential is a chain of twenty operations, of which each waits for the one before; a core finds other work for
// the time of one vector in the next, as far as its schedulers hold the instructions between, which is one vector or two.
func (k *kernel) decideJam(name, block string, around []string) ([]string, error) {
	legal := func(of string) bool { return k.trial(func() bool { return k.s.Jam(of) == nil }) }
	most := k.mostJammed(block)
	if len(around) == 0 || most < 2 || !legal(around[len(around)-1]) {
		return around, nil
	}
	loops := slices.Clone(around)
	n := k.DecideAmong(name, most, nil, Powers(mostJammed)...)
	for i := len(loops) - 1; i >= 0 && n > 1 && legal(loops[i]); i-- {
		each := jamOf(k.s.Extent(loops[i]), n)
		if k.s.Extent(loops[i])%each > 0 && !k.trial(func() bool { _, _, err := k.s.Split(loops[i], each); return err == nil }) {
			each = divisor(k.s.Extent(loops[i]), n) // part of a loop itself, it cannot have a rest
		}
		n /= each
		jam := loops[i]
		if each < k.s.Extent(jam) {
			o, in, err := k.splitTile(jam, each)
			if err != nil || in == "" {
				return loops, err
			}
			loops[i], jam, n = o, in, 1
		}
		if err := k.s.Jam(jam); err != nil {
			return loops, err
		}
	}
	return loops, nil
}

// jamOf is how many iterations of a loop are computed side by side, at most n: a divisor of the extent, or n where the rest at its end is
// little.
func jamOf(extent, n int) int {
	each := divisor(extent, n)
	if 2*each < n && extent >= 4*n {
		return n
	}
	return each
}

// divisor is the largest of an extent that is at most n.
func divisor(extent, n int) int {
	each := 1
	for d := 2; d <= min(n, extent); d++ {
		if extent%d == 0 {
			each = d
		}
	}
	return each
}

// mostJammed is how many vectors of a block's values registers hold side by side, at most those that gain anything; 1 where no function
// is computed that waits for itself.
func (k *kernel) mostJammed(block string) int {
	b, _ := k.find(block)
	functions, powers := 0, 0
	expr.Walk(b.Body.Value, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Unary:
			if e.Fn >= expr.FnExp && e.Fn <= expr.FnAtanh {
				functions++
			}
		case *expr.Binary:
			if e.DType().IsFloat() && (e.Op == expr.OpPow || e.Op == expr.OpAtan2) {
				powers++
			}
		}
		return true
	})
	if functions+powers == 0 {
		return 1
	}
	chain := chainRegisters + functions + 4*powers
	n := 1
	for n < mostJammed && 2*n*chain <= k.core.VectorRegs-sharedRegisters {
		n *= 2
	}
	return n
}
