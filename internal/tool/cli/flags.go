package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/internal/tool/spelling"
)

// UnsupportedError is about a flag or command of tvmc that is understood and does not work.
type UnsupportedError struct{ What, Why string }

func (e *UnsupportedError) Error() string {
	if e.Why == "" {
		return e.What + " is not supported yet"
	}
	return e.What + " is not supported: " + e.Why
}

// UnusableFlag is a flag of tvmc that does not work yet. Values in harmless ask for nothing else than what happens
// anyway.
type UnusableFlag struct {
	Name, Short string
	Harmless    []string
	IsSwitch    bool
	Why         string // "" = not yet
}

// AddUnusable defines the flags, so that they are recognised, abbreviated and refused by name.
func AddUnusable(cmd *cobra.Command, flags []UnusableFlag) {
	for _, u := range flags {
		cmd.Flags().StringArrayP(u.Name, u.Short, nil, "")
		f := cmd.Flags().Lookup(u.Name)
		f.Annotations = map[string][]string{unusable: nil}
		f.Hidden = true
		if u.IsSwitch {
			f.NoOptDefVal = "1"
		}
	}
}

// RefuseUnusable returns an error for the first of the flags that was used.
func RefuseUnusable(cmd *cobra.Command, flags []UnusableFlag) error {
	for _, u := range flags {
		if _, ok := cmd.Flags().Lookup(u.Name).Annotations[unusable]; !ok {
			continue // the command has a flag of its own by this name
		}
		values, err := cmd.Flags().GetStringArray(u.Name)
		if err != nil {
			return err
		}
		for _, v := range values {
			if !slices.Contains(u.Harmless, v) {
				what := "flag --" + u.Name
				if len(u.Harmless) > 0 && u.Harmless[0] != "" {
					what += " " + v
				}
				return &UnsupportedError{what, u.Why}
			}
		}
	}
	return nil
}

// MarkOurs marks flags that tvmc lacks.
func MarkOurs(cmd *cobra.Command, names ...string) {
	for _, n := range names {
		Annotate(cmd, n, ours)
	}
}

// Annotate marks a flag with one of the annotations of this package.
func Annotate(cmd *cobra.Command, name, key string) {
	if err := cmd.Flags().SetAnnotation(name, key, nil); err != nil {
		panic(err) // the flag was not defined
	}
}

// choice is a flag value out of a list.
type choice struct {
	to   *string
	from []string
}

func (c choice) String() string { return *c.to }
func (c choice) Type() string   { return "NAME" }

func (c choice) Set(v string) error {
	if !slices.Contains(c.from, v) {
		return fmt.Errorf("choose from %s%s", strings.Join(c.from, ", "), spelling.Hint(v, c.from))
	}
	*c.to = v
	return nil
}

// ChoiceVar defines a flag whose value is one out of a list.
func ChoiceVar(fs *pflag.FlagSet, to *string, name, value string, from []string, usage string) {
	ChoiceVarP(fs, to, name, "", value, from, usage)
}

// ChoiceVarP is ChoiceVar with a short name.
func ChoiceVarP(fs *pflag.FlagSet, to *string, name, short, value string, from []string, usage string) {
	*to = value
	fs.VarP(choice{to, from}, name, short, usage)
}

// number is an integer flag within bounds.
type number struct {
	to       *int
	min, max int
}

func (n number) String() string { return strconv.Itoa(*n.to) }
func (n number) Type() string   { return "N" }

func (n number) Set(v string) error {
	i, err := strconv.Atoi(v)
	if err != nil || i < n.min || i > n.max {
		return fmt.Errorf("must be a whole number from %d to %d", n.min, n.max)
	}
	*n.to = i
	return nil
}

// NumberVar defines a flag whose value is a whole number from min to max; short may be empty.
func NumberVar(fs *pflag.FlagSet, to *int, name, short string, value, min, max int, usage string) {
	*to = value
	fs.VarP(number{to, min, max}, name, short, usage)
}

// parsed is a flag value that a function reads.
type parsed[T any] struct {
	to   *T
	read func(string) (T, error)
	text string
	kind string
}

func (p *parsed[T]) String() string { return p.text }
func (p *parsed[T]) Type() string   { return p.kind }

func (p *parsed[T]) Set(v string) error {
	t, err := p.read(v)
	if err == nil {
		*p.to, p.text = t, v
	}
	return err
}

// ParsedVar defines a flag whose value a function reads; kind stands for the value in help.
func ParsedVar[T any](fs *pflag.FlagSet, to *T, name, kind string, read func(string) (T, error), usage string) {
	fs.Var(&parsed[T]{to: to, read: read, kind: kind}, name, usage)
}

// CommaList splits a list as tvmc does; tvmc's help shows brackets around it.
func CommaList(text string) []string {
	var list []string
	for s := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// ToOutput is the value of a flag of FileOrOutputVar that was given without a file.
const ToOutput = "-"

// fileOrOutput is a flag that stands alone or takes a file with one of the extensions, which say what is written.
type fileOrOutput struct {
	to         *string
	extensions []string
}

func (f fileOrOutput) String() string { return *f.to }
func (f fileOrOutput) Type() string   { return "string" }

func (f fileOrOutput) Set(v string) error {
	if v != ToOutput && !slices.Contains(f.extensions, Extension(v)) {
		return fmt.Errorf("the file's extension says what is written: it must be one of %s", strings.Join(f.extensions, " "))
	}
	*f.to = v
	return nil
}

// Written returns the file that a flag's value names for the command to write, "" where it names none, and the extensions that
// such a file may have. It reports false for a flag that is not for such files.
func Written(f *pflag.Flag) (path string, extensions []string, ok bool) {
	switch v := f.Value.(type) {
	case output:
		return *v.to, v.extensions, true
	case fileOrOutput:
		if *v.to != ToOutput {
			path = *v.to
		}
		return path, v.extensions, true
	}
	return "", nil, false
}

// refuseUnwritable returns an error for the first flag that names a file that cannot be written, before the command begins.
func refuseUnwritable(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if path, _, ok := Written(f); ok && path != "" && err == nil {
			err = Writable(path)
		}
	})
	return err
}

// output is a flag that names a file that a command writes.
type output struct {
	to         *string
	extensions []string
}

func (o output) String() string { return *o.to }
func (o output) Type() string   { return "string" }

func (o output) Set(v string) error {
	switch ext := Extension(v); {
	case v == "":
		return errors.New("an empty name is no file")
	case o.extensions == nil || ext == "" && v != ToOutput || slices.Contains(o.extensions, ext):
		*o.to = v
		return nil
	case v == ToOutput:
		return errors.New("arrays do not go to standard output (name a file)")
	default:
		return fmt.Errorf("what is written is of the kind %s, whatever it is called: name it %s%s",
			strings.Join(o.extensions, " "), strings.TrimSuffix(v, filepath.Ext(v)), o.extensions[0])
	}
}

// OutputVarP defines a flag for the file that a command writes. Its extension is one of the list, or there is none; where the
// list is nil the command looks at it.
func OutputVarP(fs *pflag.FlagSet, to *string, name, short, value string, extensions []string, usage string) {
	*to = value
	fs.VarP(output{to, extensions}, name, short, usage)
}

// folder is a flag that names a folder that a command writes to.
type folder struct{ to *string }

func (f folder) String() string { return *f.to }
func (f folder) Type() string   { return "string" }

func (f folder) Set(v string) error {
	if v == "" {
		return errors.New("an empty name is no folder")
	}
	*f.to = v
	return nil
}

// FolderVarP defines a flag for the folder that a command writes to.
func FolderVarP(fs *pflag.FlagSet, to *string, name, short, value, usage string) {
	*to = value
	fs.VarP(folder{to}, name, short, usage)
}

// Extension is the extension of a file's name in lower case.
func Extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// FileOrOutputVar defines a flag that stands alone, for standard output, or takes a file as --NAME=FILE, with one of the
// extensions.
func FileOrOutputVar(cmd *cobra.Command, to *string, name string, extensions []string, usage string) {
	cmd.Flags().Var(fileOrOutput{to, extensions}, name, usage)
	cmd.Flags().Lookup(name).NoOptDefVal = ToOutput
}

// JSONVar defines --json.
func JSONVar(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON document instead of text")
	MarkOurs(cmd, "json")
}

// looseFile tells how a file is given to the flag that stands alone in a command line with a file too many.
func looseFile(cmd *cobra.Command, args []string) string {
	hint := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v, ok := f.Value.(fileOrOutput)
		if !ok || *v.to != ToOutput {
			return
		}
		for _, a := range args {
			if slices.Contains(v.extensions, Extension(a)) {
				hint = fmt.Sprintf(" (a file for --%s is written --%s=%s)", f.Name, f.Name, a)
			}
		}
	})
	return hint
}
