package compile

import (
	"fmt"
	"slices"
	"strings"
)

// A Format is a form in which a compiled model leaves the compiler: the value of -f.
type Format struct {
	Name, Doc string
	phases    []phase // after kernels and memory are planned
}

type phase struct {
	name string
	run  func(*compiler) error
}

// Formats lists the output formats; the first is the default.
var Formats = []Format{
	{"so", "a package with a shared library", []phase{{"code", (*compiler).generate}, {"package", (*compiler).pack}, {"link", (*compiler).link}}},
}

// formatOf returns the format by its name, the first for "".
func formatOf(name string) (*Format, error) {
	if name == "" {
		return &Formats[0], nil
	}
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range Formats {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("unknown output format %q (choose from %s)", name, strings.Join(names, ", "))
	}
	return &Formats[i], nil
}
