package compile

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/isa"
	"lathe/internal/plan"
	"lathe/internal/target"
)

// A Format is a form in which a compiled model leaves the compiler: the value of -f.
type Format struct {
	Name, Doc string
	Output    string                                                                               // the file to write when none is named
	Endings   []string                                                                             // extensions of that file; "" = any that is no other kind of file's
	Target    string                                                                               // what to compile for when nothing is named; "" = this machine
	object    isa.ObjectFormat                                                                     // of the code in it
	inside    bool                                                                                 // weights are always a part of it
	linked    bool                                                                                 // into a program, whose names are then the C runtime's too
	finish    finish                                                                               // runs the phases after kernels and memory are planned
	begin     func(ctx context.Context, path string, params []bundle.Param) (*bundle.Draft, error) // writes constants while code is made; nil: later
	write     func(path string, c *bundle.Contents) error
}

// finish makes the contents of a planned network, and the code where there is machine code.
type finish func(*job, *network, *program, *plan.Plan) (*bundle.Contents, *code, error)

// compiled finishes formats of machine code: the last phase joins the code to the other parts.
func compiled(last string, join func(*job, *code, bundle.Contents) (*bundle.Contents, error)) finish {
	return func(j *job, n *network, p *program, mem *plan.Plan) (*bundle.Contents, *code, error) {
		constants := params(j, n, mem)
		draft, err := j.draft.begin(j, constants)
		if err != nil {
			return nil, nil, err
		}
		c, err := phase(j, "code", func() (*code, error) { return generate(j, p, mem) })
		if err != nil {
			return nil, nil, err
		}
		parts, err := phase(j, "package", func() (*bundle.Contents, error) { return pack(j, n, p, mem, constants) })
		if err != nil {
			return nil, nil, err
		}
		parts.Draft = draft
		contents, err := phase(j, last, func() (*bundle.Contents, error) { return join(j, c, *parts) })
		return contents, c, err
	}
}

// written finishes C source.
func written(j *job, n *network, p *program, mem *plan.Plan) (*bundle.Contents, *code, error) {
	contents, err := phase(j, "source", func() (*bundle.Contents, error) { return source(j, n, p, mem) })
	return contents, nil, err
}

// Formats lists the output formats; the first is the default.
var Formats = []Format{
	{
		Name: "so", Doc: "a package with a shared library", Output: "module.tar", Endings: []string{".so", ".tar", ""},
		finish: compiled("link", link), begin: bundle.Begin, write: bundle.Write,
	},
	{
		Name: "c", Doc: "C source NAME.c with weights, and its header NAME.h", Output: "module.c", Endings: []string{".c"}, Target: "c", object: isa.Source, inside: true, linked: true,
		finish: written, write: bundle.WriteFiles,
	},
	{
		Name: "tar", Doc: "a tar with a static library, its C header and the runtime's sources", Output: "module.tar", Endings: []string{".tar", ""}, linked: true,
		finish: compiled("archive", archive), write: bundle.WriteStatic,
	},
	{
		Name: "wasm", Doc: "a WebAssembly module NAME.wasm and its JavaScript loader NAME.mjs", Output: "module.wasm", Endings: []string{".wasm"}, Target: "wasm32", object: isa.Wasm, inside: true,
		finish: compiled("link", linkWasm), write: bundle.WriteWasm,
	},
}

// names reports in an error whether path can be the name of a file in the format.
func (f *Format) names(path string) error {
	_, err := FormatFor(f.Name, nil, path)
	return err
}

// fits reports in an error whether the format exists for a target.
func (f *Format) fits(t *target.Target) error {
	if f.object == t.ISA().Object {
		return nil
	}
	if f.object != isa.ELF {
		return fmt.Errorf("output format %s is for target %s, and the target is %q (leave the target out, or name %s)", f.Name, f.Target, t, f.Target)
	}
	for _, other := range Formats {
		if other.object == t.ISA().Object {
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

// FormatOf returns the format by its name; for "" the first that is for the target.
func FormatOf(name string, t *target.Target) (*Format, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool {
		if name == "" {
			return f.object == t.ISA().Object
		}
		return f.Name == name
	})
	if i >= 0 {
		return &Formats[i], nil
	}
	var names []string
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("unknown output format %q (choose from %s)", name, strings.Join(names, ", "))
}

// otherFiles are extensions of files that are no output, with what may have been meant. A tar can have any other name.
var otherFiles = map[string]string{
	".a": "-f tar writes a static library, inside a tar", ".o": "-f tar writes a static library, inside a tar", ".h": "-f c writes NAME.c and NAME.h: name NAME.c",
	".mjs": "the JavaScript loader is written beside NAME.wasm: name that", ".js": "the JavaScript loader is written beside NAME.wasm: name that",
	".json": "name NAME.so for NAME.so, NAME.json and NAME.params", ".params": "name NAME.so for NAME.so, NAME.json and NAME.params",
	".gz": "packages are not compressed: name NAME.tar", ".tgz": "packages are not compressed: name NAME.tar", ".zip": "name NAME.tar",
	".dll": "the system is Linux: name NAME.so", ".dylib": "the system is Linux: name NAME.so", ".exe": "name NAME.so or NAME.tar",
	".onnx": "this is a model's name: name NAME.tar", ".graph": "--dump-code relay writes the graph beside the package: name NAME.tar",
	".ll": "--dump-code ll writes it beside the package: name NAME.tar", ".s": "--dump-code asm writes it beside the package: name NAME.tar",
	".npz": "arrays are what lathe run writes: name NAME.tar", ".npy": "arrays are what lathe run writes: name NAME.tar",
	".html": "pages are what lathe run --profile writes: name NAME.tar", ".csv": "tables are what lathe run --profile writes: name NAME.tar",
	".txt": "--explain=FILE writes text: name NAME.tar", ".asm": "--dump-code asm writes it beside the package: name NAME.tar",
	".cc": "-f c writes C: name NAME.c", ".cpp": "-f c writes C: name NAME.c", ".hpp": "-f c writes C: name NAME.c", ".wat": "name NAME.wasm",
}

// An OutputError is about the name of a file to write.
type OutputError struct{ File, Why string }

func (e *OutputError) Error() string { return "output " + e.File + ": " + e.Why }

// FormatFor returns the name of the format in which output is written: the one that is named, or the only one for a target,
// which is nil where it is not known, or else what the output's extension says; "" leaves it to the target. An output whose
// extension is another format's is an OutputError, for the file would not be what its name says.
func FormatFor(name string, t *target.Target, output string) (string, error) {
	if output == "" {
		return name, nil
	}
	if output == "-" {
		return "", &OutputError{output, "compiled models do not go to standard output (name a file)"}
	}
	ending := strings.ToLower(filepath.Ext(output))
	if hint, ok := otherFiles[ending]; ok {
		return "", &OutputError{output, "nothing that is written is of this kind (" + hint + ")"}
	}
	if !slices.ContainsFunc(Formats, func(f Format) bool { return slices.Contains(f.Endings, ending) }) {
		ending = ""
	} else if library := strings.TrimSuffix(output, filepath.Ext(output)) + ".so"; ending == ".so" && output != library {
		return "", &OutputError{output, "a library and its companions are found by a name that ends in .so (name " + library + ")"}
	}
	if name != "" && endingsOf(name) == nil {
		return name, nil // which does not exist, as the compiler will say
	}
	why := "-f " + name
	if name == "" && t != nil && t.ISA().Object != isa.ELF {
		f, err := FormatOf("", t)
		if err != nil {
			return "", err
		}
		name, why = f.Name, "target "+f.Target
	}
	var fit []string
	for _, f := range Formats {
		switch {
		case !slices.Contains(f.Endings, ending):
		case f.Name == name:
			return name, nil
		default:
			fit = append(fit, f.Name)
		}
	}
	if name != "" {
		return "", &OutputError{output, fmt.Sprintf("%s writes files that end in %s (%s)", why, strings.Join(endingsOf(name), " or "), meant(ending, fit))}
	}
	if fit[0] == Formats[0].Name {
		return "", nil
	}
	return fit[0], nil
}

// meant tells what an ending stands for.
func meant(ending string, formats []string) string {
	if ending == "" {
		return "name such a file"
	}
	return fmt.Sprintf("%s is for -f %s", ending, strings.Join(formats, " or "))
}

// endingsOf are the extensions of a format's output.
func endingsOf(name string) []string {
	for _, f := range Formats {
		if f.Name == name {
			return slices.DeleteFunc(slices.Clone(f.Endings), func(e string) bool { return e == "" })
		}
	}
	return nil
}
