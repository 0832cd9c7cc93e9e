package byoc

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/target"
	"lathe/internal/tool/spelling"
)

// A List has the generators that can be named in a target.
type List []*Codegen

// lookup finds a generator by its name or an alias.
func (l List) lookup(name string) (*Codegen, Options) {
	for _, c := range l {
		if c.Name == name {
			return c, nil
		}
		for _, a := range c.Aliases {
			if strings.EqualFold(a.Name, name) {
				return c, a.Options
			}
		}
	}
	return nil, nil
}

// Names lists the generators and their aliases.
func (l List) Names() (names []string) {
	for _, c := range l {
		names = append(names, c.Name)
		for _, a := range c.Aliases {
			names = append(names, a.Name)
		}
	}
	return names
}

// Choose finds the generators of a target and checks their options. Their order stays. elsewhere, which may be nil, finds those that are not
// in the list; its result is nil where there is none.
func (l List) Choose(t *target.Target, elsewhere func(name string) (*Codegen, error)) ([]Chosen, error) {
	var chosen []Chosen
	for _, g := range t.Generators {
		c, err := l.choose(g, t, elsewhere)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", t, err)
		}
		if slices.ContainsFunc(chosen, func(o Chosen) bool { return o.Codegen == c.Codegen }) {
			return nil, fmt.Errorf("target %q: %s is given twice", t, c.Name)
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func (l List) choose(g target.Generator, t *target.Target, elsewhere func(name string) (*Codegen, error)) (Chosen, error) {
	c, given := l.lookup(g.Name)
	if c == nil && elsewhere != nil {
		var err error
		if c, err = elsewhere(g.Name); err != nil {
			return Chosen{}, err
		}
	}
	if c == nil {
		return Chosen{}, l.unknown(g.Name)
	}
	options, err := target.CheckOptions(g.Name, c.Options, g.Options)
	if err != nil {
		return Chosen{}, err
	}
	for _, o := range given {
		if Options(options).Value(o.Name) == "" {
			options = append(options, o)
		}
	}
	if c.Fits != nil {
		if err := c.Fits(t, options); err != nil {
			return Chosen{}, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return Chosen{c, options}, nil
}

func (l List) unknown(name string) error {
	if slices.Contains(target.Codegens, name) {
		return fmt.Errorf("external code generator %s is not supported (there are: %s)", name, l.text())
	}
	if hint := spelling.Hint(name, l.Names()); hint != "" {
		return fmt.Errorf("unknown external code generator %q%s", name, hint)
	}
	return fmt.Errorf("unknown external code generator %q (there are: %s)", name, l.text())
}

func (l List) text() string {
	if len(l) == 0 {
		return "none"
	}
	return strings.Join(l.Names(), ", ")
}
