package target

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Generator is an external code generator as the user wrote it before a target.
type Generator struct {
	Name    string
	Options []Option // an empty value is that of a switch without one
}

// generatorName is the form of generators' names, which become parts of symbols and of file names.
var generatorName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// String returns the generator as Parse reads it.
func (g Generator) String() string {
	var b strings.Builder
	b.WriteString(g.Name)
	for _, o := range g.Options {
		b.WriteString(" -" + o.Name)
		if o.Value != "" {
			b.WriteString("=" + quote(o.Value))
		}
	}
	return b.String()
}

// addGiven adds an option that nothing is known about.
func (s *Spec) addGiven(name, value string, hasValue bool) error {
	switch {
	case name == "":
		return fmt.Errorf("an option of %s has no name: options are written -name=value", s.Kind)
	case s.has(name):
		return fmt.Errorf("option -%s is given twice", name)
	case hasValue && value == "":
		return fmt.Errorf("option -%s has no value: write -%s=VALUE without spaces", name, name)
	case strings.ContainsAny(name+value, "\n\r") || strings.ContainsAny(name, "\"' \t,=") || strings.Contains(value, `"`) && strings.Contains(value, "'"):
		return fmt.Errorf("option -%s: %q mixes both kinds of quotes or holds a line break", name, value)
	}
	s.Options = append(s.Options, Option{name, value})
	return nil
}

func (s *Spec) has(name string) bool {
	return slices.ContainsFunc(s.Options, func(o Option) bool { return o.Name == name })
}

// CheckOptions returns the options given for an external code generator as its table of options has them: switches are "1" or "0".
func CheckOptions(name string, table []OptionInfo, given []Option) ([]Option, error) {
	s := &Spec{Kind: name}
	for _, o := range given {
		if err := s.addChecked(table, o.Name, o.Value, o.Value != ""); err != nil {
			return nil, err
		}
	}
	return s.Options, nil
}

// SetGenerator adds or replaces an option of one of the external code generators, as --target-NAME-OPTION VALUE does, and reports
// whether the target has it.
func (s *Spec) SetGenerator(generator, name, value string) bool {
	i := slices.IndexFunc(s.Generators, func(g Generator) bool { return g.Name == generator })
	if i < 0 {
		return false
	}
	options := slices.DeleteFunc(slices.Clone(s.Generators[i].Options), func(o Option) bool { return o.Name == name })
	s.Generators[i].Options = append(options, Option{name, value})
	return true
}
