package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseShapes reads tvmc's "name:[1,3,224,224] other:[1,128]". A name may hold anything but "[" and blanks.
func parseShapes(text string) (map[string][]int, error) {
	const form = `must be of the form "name:[dim1,dim2] name2:[dim1,dim2]"`
	shapes := make(map[string][]int)
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New(form)
	}
	for rest != "" {
		head, after, ok := strings.Cut(rest, "[")
		name, colon := strings.CutSuffix(strings.TrimSpace(head), ":")
		if !ok || !colon || name == "" || strings.ContainsAny(name, " \t,]") {
			return nil, errors.New(form)
		}
		dims, tail, ok := strings.Cut(after, "]")
		if !ok {
			return nil, errors.New(form)
		}
		shape, err := parseDims(dims)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
		if _, twice := shapes[name]; twice {
			return nil, fmt.Errorf("input %q is given twice", name)
		}
		shapes[name] = shape
		rest = strings.TrimLeft(tail, " \t\n,;")
	}
	return shapes, nil
}

func parseDims(text string) ([]int, error) {
	shape := []int{}
	if strings.TrimSpace(text) == "" {
		return shape, nil
	}
	for d := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(d))
		if err != nil {
			return nil, fmt.Errorf("dimension %q is not a whole number", strings.TrimSpace(d))
		}
		if n < 1 {
			return nil, fmt.Errorf("dimension %d asks for a size that stays open, which is not supported yet: write the size to compile for", n)
		}
		shape = append(shape, n)
	}
	return shape, nil
}
