package spelling

import (
	"fmt"
	"strings"
)

// Count is a number of things in words: 1 tensor, 2 tensors, 0 spatial axes.
func Count[N ~int | ~int64 | ~uint32 | ~uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", plural(thing))
}

// First joins a list, of which it names so many at most.
func First(list []string, most int, by string) string {
	if len(list) <= most {
		return strings.Join(list, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], by), len(list)-most)
}

func plural(thing string) string {
	at := strings.LastIndexByte(thing, ' ') + 1
	if irregular, ok := map[string]string{"axis": "axes", "class": "classes", "batch": "batches", "entry": "entries"}[thing[at:]]; ok {
		return thing[:at] + irregular
	}
	return thing + "s"
}
