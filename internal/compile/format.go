package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// A Format is a form in which a compiled model leaves the compiler: the value of -f.
type Format struct {
	Name, Doc string
	Output    string      // the file to write when none is named
	Target    string      // what to compile for when nothing is named; "" = this machine
	arch      target.Arch // the only one it is for; "" = those of shared objects
	inside    bool        // weights are always a part of it
	linked    bool        // into a program, whose names are then the C runtime's too
	phases    []phase     // after kernels and memory are planned
	write     func(path string, c *bundle.Contents) error
}

type phase struct {
	name string
	run  func(*compiler) error
}

// Formats lists the output formats; the first is the default.
var Formats = []Format{
	{
		Name: "so", Doc: "a package with a shared library", Output: "module.tar",
		phases: []phase{{"code", (*compiler).generate}, {"package", (*compiler).pack}, {"link", (*compiler).link}}, write: bundle.Write,
	},
	{
		Name: "c", Doc: "C source NAME.c with weights, and its header NAME.h", Output: "module.c", Target: "c", arch: target.CSource, inside: true, linked: true,
		phases: []phase{{"source", (*compiler).source}}, write: bundle.WriteFiles,
	},
	{
		Name: "tar", Doc: "a tar with a static library, its C header and the runtime's sources", Output: "module.tar", linked: true,
		phases: []phase{{"code", (*compiler).generate}, {"package", (*compiler).pack}, {"archive", (*compiler).archive}}, write: bundle.WriteStatic,
	},
	{
		Name: "wasm", Doc: "a WebAssembly module NAME.wasm and its JavaScript loader NAME.mjs", Output: "module.wasm", Target: "wasm32", arch: target.WASM32, inside: true,
		phases: []phase{{"code", (*compiler).generate}, {"package", (*compiler).pack}, {"link", (*compiler).linkWasm}}, write: bundle.WriteWasm,
	},
}

// fits reports in an error whether the format exists for a target.
func (f *Format) fits(t *target.Target) error {
	if f.arch == t.Arch {
		return nil
	}
	if f.arch != "" {
		return fmt.Errorf("output format %s is for target %s, and the target is %q (leave the target out, or name %s)", f.Name, f.Target, t, f.Target)
	}
	for _, other := range Formats {
		if other.arch == t.Arch {
			return fmt.Errorf("output format %s does not exist for target %q (use -f %s)", f.Name, t, other.Name)
		}
	}
	return nil
}

var (
	cComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cName    = regexp.MustCompile(`(?i)\blathe_\w+`)
)

// checkNames refuses a module whose names in C, lathe_MODULE and lathe_MODULE_..., could be those of lathe.h.
func (f *Format) checkNames(module string, runtime []bundle.Text) error {
	for _, text := range runtime {
		if !f.linked || text.Name != "lathe.h" {
			continue
		}
		for _, name := range cName.FindAllString(cComment.ReplaceAllString(string(text.Data), " "), -1) {
			if strings.HasPrefix(strings.ToLower(name)+"_", "lathe_"+strings.ToLower(module)+"_") {
				return fmt.Errorf("module name %q: its names in C would begin like %s of lathe.h (choose another with --module-name)", module, name)
			}
		}
	}
	return nil
}

// formatOf returns the format by its name; for "" the one that is for the target alone, or else the first.
func formatOf(name string, t *target.Target) (*Format, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool {
		if name == "" {
			return f.arch == t.Arch
		}
		return f.Name == name
	})
	switch {
	case i >= 0:
		return &Formats[i], nil
	case name == "":
		return &Formats[0], nil
	}
	var names []string
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("unknown output format %q (choose from %s)", name, strings.Join(names, ", "))
}
