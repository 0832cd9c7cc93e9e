package spelling

import "fmt"

// Count is a number of things in words: 1 tensor, 2 tensors, 0 axes.
func Count[N ~int | ~int64 | ~uint32 | ~uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", plural(thing))
}

func plural(thing string) string {
	if irregular, ok := map[string]string{"axis": "axes", "class": "classes", "batch": "batches", "entry": "entries"}[thing]; ok {
		return irregular
	}
	return thing + "s"
}
