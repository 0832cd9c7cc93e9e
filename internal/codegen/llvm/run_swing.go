package llvm

import (
	"fmt"
	"slices"
	"strings"
)

// swinging writes step i of a loop whose chunks are taken in turns from the first to the last and back: what the cache still holds of the
// constants that an iteration has read last is what the next one begins with. A worker that is alone takes the chunks of one. Where there are
// fewer chunks than each worker is to have, all iterations take them alike. %odd is whether the iteration's number is.
func (r *Run) swinging(b *strings.Builder, i int, s Step) {
	last, meets := s.Chunks-1, r.meets()
	fmt.Fprintf(b, "  br label %%begin%[1]d\nbegin%[1]d:\n", i)
	if !meets {
		fmt.Fprintf(b, "  %%mask%[1]d = select i1 %%odd, i64 %[2]d, i64 0\n  br label %%run%[1]d\n", i, last)
	} else {
		s.count(b, i)
		fmt.Fprintf(b, "  %%one%[1]d = or i1 %%alone, %%few%[1]d\n  %%back%[1]d = and i1 %%odd, %%one%[1]d\n", i)
		fmt.Fprintf(b, "  %%mask%[1]d = select i1 %%back%[1]d, i64 %[2]d, i64 0\n", i, last)
		fmt.Fprintf(b, "  %%m%[1]d.all = select i1 %%alone, i32 %[2]d, i32 %%n%[1]d\n  %%chunks%[1]d = zext i32 %%m%[1]d.all to i64\n", i, s.Chunks)
		s.claim(b, i)
	}
	fmt.Fprintf(b, "run%[1]d:\n  %%chunk%[1]d = phi i64 [ 0, %%begin%[1]d ], [ %%after%[1]d, %%again%[1]d ]", i)
	chunks := fmt.Sprint(s.Chunks)
	if meets {
		fmt.Fprintf(b, ", [ %%got%[1]d, %%next%[1]d ]", i)
		chunks = fmt.Sprintf("%%chunks%d", i)
	}
	fmt.Fprintf(b, "\n  %%mine%[1]d = xor i64 %%chunk%[1]d, %%mask%[1]d\n", i)
	r.call(b, i, s, fmt.Sprintf("%%mine%d", i), chunks)
	if meets {
		fmt.Fprintf(b, "  br i1 %%alone, label %%again%[1]d, label %%next%[1]d\n", i)
	} else {
		fmt.Fprintf(b, "  br label %%again%d\n", i)
	}
	fmt.Fprintf(b, "again%[1]d:\n  %%after%[1]d = add i64 %%chunk%[1]d, 1\n  %%more%[1]d = icmp ult i64 %%after%[1]d, %[2]d\n", i, s.Chunks)
	fmt.Fprintf(b, "  br i1 %%more%[1]d, label %%run%[1]d, label %%s%[2]d\n", i, i+1)
}

// steady are steps of which none swings, for functions that do not know the iteration.
func steady(steps []Step) []Step {
	list := slices.Clone(steps)
	for i := range list {
		list[i].Swings = false
	}
	return list
}
