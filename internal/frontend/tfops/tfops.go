// Package tfops converts the operators that TensorFlow and TensorFlow Lite have in common, with the same operands and the same names
// of attributes, from a frontend.Call. What is different about them (layouts, quantised data, types of results) is a parameter.
package tfops

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
)

// Axes are axes in order, each once, however often it is given.
func Axes(list []int, rank int) []int {
	var out []int
	for _, a := range list {
		if a = frontend.Axis(a, rank); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

// pairs reads operand i as n pairs of numbers that are not negative.
func pairs(c *frontend.Call, i, n int, what string) (before, after []int) {
	list := c.KnownInts(i, what)
	if len(list) != 2*n {
		compose.Fail("%s %v for %d axes of %s", what, list, n, c.X(0).Type)
	}
	for k := range n {
		if list[2*k] < 0 || list[2*k+1] < 0 {
			compose.Fail("%s %v", what, list)
		}
		before, after = append(before, list[2*k]), append(after, list[2*k+1])
	}
	return before, after
}
