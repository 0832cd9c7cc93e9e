package llvm

import (
	"slices"
	"strings"

	"lathe/internal/isa"
)

// Routines returns a module with hidden definitions of those undefined functions that the table has, and the names of the
// others, sorted. The text is empty when it has none. Routines may call routines in turn: the processor decides.
//
// The definitions are weak, so that libraries linked into one program may each bring them.
func Routines(table []isa.Routine, undefined []string) (text string, unknown []string) {
	var b strings.Builder
	done := map[string]bool{}
	var add func(name string) bool
	add = func(name string) bool {
		i := slices.IndexFunc(table, func(r isa.Routine) bool { return r.Name == name })
		if i < 0 {
			return false
		}
		if !done[name] {
			done[name] = true
			b.WriteString(strings.TrimSpace(table[i].Text) + "\n")
			if uses := table[i].Uses; uses != "" {
				add(uses)
			}
		}
		return true
	}
	for _, name := range slices.Sorted(slices.Values(undefined)) {
		if !add(name) {
			unknown = append(unknown, name)
		}
	}
	return b.String(), unknown
}
