package impl

import (
	"cmp"
	"slices"
	"strconv"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/sched"
	"lathe/internal/types"
)

// A cut divides a long sum: the reduction loop at position loop of the order, by factor, so that parts are left.
type cut struct{ parts, loop, factor int }

func (c cut) String() string { return strconv.Itoa(c.parts) }

// decideParts asks into how many parts the sum over the loops is cut, and splits the loop where a part ends within it. at is
// the loop whose iterations are parts, "" where the sum stays whole; scaled says that each part has a factor of its own.
func (k *kernel) decideParts(t *tiling, rs []string) (loops []string, at string, scaled bool, err error) {
	b, _ := k.find(t.acc)
	update, ok := b.Body.Value.(*expr.Binary)
	if !ok || update.Op != expr.OpAdd || b.Body.To.DType != types.F32 {
		return rs, "", false, nil
	}
	if i := k.scaledParts(t.acc, rs); i >= 0 {
		return rs, rs[i], true, nil
	}
	list := []cut{{parts: 1}}
	def := k.cut(rs, longestChain)
	if def.factor > 1 && def.loop < len(rs)-1 {
		def = list[0] // one more loop around others takes the registers of addresses, and accumulators are spilt for them
	}
	for _, most := range []int{96, longestChain, 384, 768, 1536} {
		if c := k.cut(rs, most); !slices.ContainsFunc(list, func(o cut) bool { return o.parts == c.parts }) {
			list = append(list, c)
		}
	}
	if len(list) == 1 {
		return rs, "", false, nil
	}
	slices.SortFunc(list, func(a, b cut) int { return cmp.Compare(a.parts, b.parts) })
	c := DecideOne(k, t.decision("parts"), slices.Index(list, def), list, nil)
	if c.parts == 1 {
		return rs, "", false, nil
	}
	at = rs[c.loop]
	if c.factor == 1 {
		return rs, at, false, nil
	}
	o, i, err := k.s.Split(at, c.factor)
	return slices.Replace(slices.Clone(rs), c.loop, c.loop+1, o, i), o, false, err
}

// cut finds the outermost place where the loops of a sum are cut into parts of most products or fewer, by a divisor where
// there is one of any size.
func (k *kernel) cut(rs []string, most int) cut {
	inside := 1
	for _, n := range rs {
		inside *= k.s.Extent(n)
	}
	if inside <= most {
		return cut{parts: 1}
	}
	parts := 1
	for j, n := range rs {
		extent := k.s.Extent(n)
		if inside /= extent; inside > most {
			parts *= extent
			continue
		}
		f := min(extent, most/inside)
		for d := f; d > f/4; d-- {
			if extent%d == 0 {
				f = d
				break
			}
		}
		return cut{parts * ((extent + f - 1) / f), j, f}
	}
	return cut{parts: 1} // a part of one product: the innermost loop alone is no sum
}

// cutSum makes parts of a scheduled sum. The total lies in scratch, where the rest of the group reads it.
func (k *kernel) cutSum(acc, at string, scaled bool) error {
	if at == "" {
		return nil
	}
	if err := k.s.CutReduction(acc, at, loop.Worker); err != nil || !scaled {
		return err
	}
	return k.s.FactorReduction(acc)
}

// scaledParts is the position of the reduction loop within whose iterations a loaded factor of the sum's terms stays the same, while it
// changes with them: the scale of a block of weights. It is -1 where there is none.
func (k *kernel) scaledParts(acc string, rs []string) int {
	b, _ := k.find(acc)
	update, _ := b.Body.Value.(*expr.Binary)
	loads := map[*loop.Buffer]bool{} // that are factors by themselves
	for _, x := range sched.Factors(update.B) {
		if l, ok := x.(*expr.Load); ok {
			loads[l.From.(*loop.Buffer)] = true
		}
	}
	for _, a := range k.accesses(acc) {
		if a.store || !loads[a.buf] {
			continue
		}
		at := -1
		for i, n := range rs {
			if step, linear := a.stride(k.variable(acc, n)); !linear || step != 0 {
				at = i
			}
		}
		if at >= 0 && at < len(rs)-1 {
			return at
		}
	}
	return -1
}
