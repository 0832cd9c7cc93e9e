package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// inputShapes is what --input-shapes says: shapes of inputs, and sizes of names in the shapes that the model declares.
type inputShapes struct {
	shapes map[string][]int
	sizes  map[string]int
}

const shapesForm = `must be of the form "name:[dim1,dim2] name2:[dim1,dim2]" or "batch=2 seq=12", or both`

// parseShapes reads tvmc's "name:[1,3,224,224] other:[1,128]", and "batch=2 seq=12". The name of an input may hold anything
// but brackets, "=" and blanks.
func parseShapes(text string) (inputShapes, error) {
	s := inputShapes{shapes: map[string][]int{}, sizes: map[string]int{}}
	rest := strings.TrimSpace(text)
	if rest == "" {
		return s, errors.New(shapesForm)
	}
	for rest != "" {
		at := strings.IndexAny(rest, "[=")
		if at < 0 {
			return s, errors.New(shapesForm)
		}
		var err error
		if rest[at] == '[' {
			rest, err = s.shape(rest[:at], rest[at+1:])
		} else {
			rest, err = s.size(rest[:at], rest[at+1:])
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

const blanks = " \t\n"

// shape takes "name:[" and what follows it, and returns what is behind the bracket that ends it.
func (s *inputShapes) shape(head, after string) (string, error) {
	name, colon := strings.CutSuffix(strings.TrimSpace(head), ":")
	if !colon || name == "" || strings.ContainsAny(name, blanks+",]") {
		return "", errors.New(shapesForm)
	}
	dims, rest, ok := strings.Cut(after, "]")
	if !ok {
		return "", errors.New(shapesForm)
	}
	shape, err := parseDims(name, dims)
	if err != nil {
		return "", fmt.Errorf("input %q: %w", name, err)
	}
	if _, twice := s.shapes[name]; twice {
		return "", fmt.Errorf("input %q is given twice", name)
	}
	s.shapes[name] = shape
	return strings.TrimLeft(rest, blanks+",;"), nil
}

// size takes "name=" and what follows it, and returns what is behind the size.
func (s *inputShapes) size(head, after string) (string, error) {
	name := strings.TrimSpace(head)
	if name == "" || strings.ContainsAny(name, blanks+",]") {
		return "", errors.New(shapesForm)
	}
	after = strings.TrimLeft(after, blanks)
	end := strings.IndexAny(after, blanks+",;")
	if end < 0 {
		end = len(after)
	}
	n, err := strconv.Atoi(after[:end])
	switch {
	case openSize.MatchString(after[:end]):
		return "", staysOpen(name+"="+after[:end], name+"=1")
	case err != nil || n < 0:
		return "", fmt.Errorf("%s=%s is not a whole number", name, after[:end])
	}
	if _, twice := s.sizes[name]; twice {
		return "", fmt.Errorf("%s is given twice", name)
	}
	s.sizes[name] = n
	return strings.TrimLeft(after[end:], blanks+",;"), nil
}

// openSize is how a size that stays open is written: -1, ?, a range or a list of sizes.
var openSize = regexp.MustCompile(`^(-\d+|\?|\d*\.\.\d*|\d+(\|\d+|\.\.\d+)+)$`)

func staysOpen(what, instead string) error {
	return fmt.Errorf("%s asks for a size that stays open, which is not supported yet: write the size to compile for, as in --input-shapes '%s'", what, instead)
}

func parseDims(name, text string) ([]int, error) {
	shape := []int{}
	if strings.TrimSpace(text) == "" {
		return shape, nil
	}
	dims := strings.Split(text, ",")
	for i, d := range dims {
		d = strings.TrimSpace(d)
		if openSize.MatchString(d) {
			instead := make([]string, len(dims))
			for j, x := range dims {
				if instead[j] = strings.TrimSpace(x); j >= i && openSize.MatchString(instead[j]) {
					instead[j] = "1"
				}
			}
			return nil, staysOpen("dimension "+d, name+":["+strings.Join(instead, ",")+"]")
		}
		n, err := strconv.Atoi(d)
		if err != nil {
			return nil, fmt.Errorf("dimension %q is not a whole number", d)
		}
		shape = append(shape, n)
	}
	return shape, nil
}
