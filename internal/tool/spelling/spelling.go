// Package spelling finds the known names that a mistyped one resembles, for error messages.
package spelling

import (
	"slices"
	"strings"
)

// Near returns up to three of the known names that resemble name, best first, and none that resembles it much
// less than the best. Case does not count.
func Near(name string, known []string) []string {
	type scored struct {
		name string
		d    int
	}
	limit := max(1, min(len(name)/3, 4))
	var found []scored
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if len(name) >= 3 && strings.HasPrefix(k, name) {
			d = min(d, limit) // a name that stops early; a typing error is nearer
		}
		if d <= limit {
			found = append(found, scored{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.d - b.d })
	var names []string
	for _, f := range found[:min(len(found), 3)] {
		if f.d <= found[0].d+1 {
			names = append(names, f.name)
		}
	}
	return names
}

// Hint returns "; did you mean A, B?" with the names Near finds, or "" without any.
func Hint(name string, known []string) string {
	near := Near(name, known)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// distance is the number of single-byte insertions, deletions and replacements, and swaps of neighbours, that turn a
// into b, where no part is edited twice.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
