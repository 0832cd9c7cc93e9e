package evaluate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Option is a flag of compile by its long name, with its value.
type Option struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Options are in the order in which they were given.
type Options []Option

// Value is what was given for a name, or empty.
func (o Options) Value(name string) string {
	for _, x := range o {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// String is the options as they are typed.
func (o Options) String() string {
	var words []string
	for _, x := range o {
		value := x.Value
		if value == "" || strings.ContainsAny(value, " ;,\"'") {
			value = "'" + value + "'"
		}
		words = append(words, "--"+x.Name+" "+value)
	}
	return strings.Join(words, " ")
}

// An Axis is a flag of which each of several values is tried.
type Axis struct {
	Name   string
	Values []string
}

// maxVariants bounds the combinations of a grid.
const maxVariants = 1000

// ParseGrid reads axes "name=value,value; name=value". A value that holds a comma or a semicolon is put between double quotes,
// but for those within brackets, as shapes have them; an empty value leaves the flag out.
func ParseGrid(text string) ([]Axis, error) {
	var axes []Axis
	combinations := 1
	fields, err := cutQuoted(text, ';')
	if err != nil {
		return nil, err
	}
	for _, field := range fields {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, values, ok := strings.Cut(field, "=")
		name = strings.TrimLeft(strings.TrimSpace(name), "-")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not of the form name=value,value", strings.TrimSpace(field))
		}
		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Name == name }) {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		a := Axis{Name: name}
		list, err := cutQuoted(values, ',')
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			if v = strings.Trim(strings.TrimSpace(v), `"`); slices.Contains(a.Values, v) {
				return nil, fmt.Errorf("%s: %q is there twice", name, v)
			}
			a.Values = append(a.Values, v)
		}
		axes = append(axes, a)
		if combinations *= len(a.Values); combinations > maxVariants {
			return nil, fmt.Errorf("these are more than %d combinations", maxVariants)
		}
	}
	if len(axes) == 0 {
		return nil, errors.New("there is no axis (it is of the form name=value,value; name=value)")
	}
	return axes, nil
}

// cutQuoted splits a text at a separator, but not between double quotes or within brackets that are closed.
func cutQuoted(text string, at rune) (parts []string, err error) {
	quoted, from, closing := false, 0, 0
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '[' && !quoted && closing <= i:
			closing = i + max(0, strings.IndexByte(text[i:], ']'))
		case r == at && !quoted && i >= closing:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	if quoted {
		return nil, fmt.Errorf("%q: a quotation does not end", text)
	}
	return append(parts, text[from:]), nil
}

// Combinations are the points of a grid, the last axis changing first.
func Combinations(axes []Axis) []Options {
	points := []Options{nil}
	for _, a := range axes {
		var next []Options
		for _, p := range points {
			for _, v := range a.Values {
				q := slices.Clone(p)
				if v != "" {
					q = append(q, Option{a.Name, v})
				}
				next = append(next, q)
			}
		}
		points = next
	}
	return points
}

// NameOf is the name of a variant that nobody has named: the model's, and the value of each option.
func NameOf(stem string, o Options) string {
	name := fileName(stem)
	for _, x := range o {
		value := x.Value
		if x.Name == "opt-level" {
			value = "O" + value
		}
		name += "." + fileName(value)
	}
	return name
}

// fileName keeps of a text what any system takes in the name of a file.
func fileName(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		keep := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '.' || r == '+'
		if !keep {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "variant"
	}
	return b.String()
}
