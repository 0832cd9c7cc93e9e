package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/internal/target"
	"lathe/internal/tool/spelling"
)

// Annotations of flags, for Annotate.
const (
	ours     = "lathe/ours"     // not a flag of tvmc
	Several  = "lathe/several"  // takes one or more values, as argparse's nargs="+"
	unusable = "lathe/unusable" // a flag of tvmc that does not work yet
)

func annotated(f *pflag.Flag, key string) bool { _, ok := f.Annotations[key]; return ok }

// expand rewrites arguments in the ways argparse reads and pflag does not: unambiguous beginnings of long flags become
// whole flags, and a flag with several values is repeated for each.
func expand(cmd *cobra.Command, args []string) ([]string, error) {
	var out []string
	positional := 0
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			positional++
			out = append(out, arg)
			continue
		}
		if arg[1] != '-' {
			if err := checkShort(cmd, arg); err != nil {
				return nil, err
			}
			out = append(out, arg)
			if takesNext(cmd, arg) && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
			continue
		}
		name, value, hasValue := strings.Cut(arg[2:], "=")
		f, err := findLong(cmd, name)
		if err != nil {
			return nil, err
		}
		switch {
		case hasValue:
			out = append(out, "--"+f.Name+"="+value)
		case annotated(f, Several):
			values := valuesFrom(args[i+1:])
			i += len(values)
			if positional == 0 && i+1 == len(args) && len(values) > 1 {
				out = append(out, values[len(values)-1]) // the file at the end
				values = values[:len(values)-1]
				positional++
			}
			if len(values) == 0 {
				return nil, fmt.Errorf("flag --%s needs a value", f.Name)
			}
			for _, v := range values {
				out = append(out, "--"+f.Name+"="+v)
			}
		case f.NoOptDefVal == "" && i+1 < len(args):
			i++
			out = append(out, "--"+f.Name+"="+args[i])
		default:
			out = append(out, "--"+f.Name)
		}
	}
	return out, nil
}

func valuesFrom(args []string) []string {
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			return args[:i]
		}
	}
	return args
}

// takesNext reports whether a group of short flags ends with one whose value is the next argument.
func takesNext(cmd *cobra.Command, arg string) bool {
	for i := 1; i < len(arg); i++ {
		f := shortFlag(cmd, arg[i:i+1])
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i+1 == len(arg)
		}
	}
	return false
}

func shortFlag(cmd *cobra.Command, letter string) *pflag.Flag {
	if f := cmd.Flags().ShorthandLookup(letter); f != nil {
		return f
	}
	return cmd.InheritedFlags().ShorthandLookup(letter)
}

// flagsOf lists the flags of a command and the global ones, in a fixed order.
func flagsOf(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	add := func(f *pflag.Flag) { flags = append(flags, f) }
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return flags
}

// findLong returns the flag with the name or the only one that starts with it. Flags that help does not list do not make a
// beginning ambiguous, and neither do flags that tvmc lacks.
func findLong(cmd *cobra.Command, name string) (*pflag.Flag, error) {
	var all []*pflag.Flag
	var names []string
	for _, f := range flagsOf(cmd) {
		if f.Name == name {
			return f, nil
		}
		names = append(names, "--"+f.Name)
		if strings.HasPrefix(f.Name, name) {
			all = append(all, f)
		}
	}
	tvmc := func(f *pflag.Flag) bool { return !annotated(f, ours) }
	listed := func(f *pflag.Flag) bool { return !f.Hidden }
	for _, fits := range []func(*pflag.Flag) bool{
		func(*pflag.Flag) bool { return true }, listed, tvmc, func(f *pflag.Flag) bool { return tvmc(f) && listed(f) },
	} {
		if some := only(all, fits); len(some) == 1 {
			return some[0], nil
		}
	}
	if len(all) > 0 {
		if some := only(all, listed); some != nil {
			all = some
		}
		var matches []string
		for _, f := range all {
			matches = append(matches, "--"+f.Name)
		}
		return nil, fmt.Errorf("ambiguous flag --%s could be %s", name, strings.Join(matches, ", "))
	}
	for _, kind := range target.Kinds() {
		if strings.HasPrefix(name, "target-"+kind+"-") && cmd.Flags().Lookup("target") != nil {
			if slices.Contains(target.Supported(), kind) {
				break
			}
			return nil, &UnsupportedError{"flag --" + name, "target kind " + kind + " is not supported yet"}
		}
	}
	return nil, fmt.Errorf("unknown flag --%s%s", name, spelling.Hint("--"+name, names))
}

// only are the flags that fit.
func only(flags []*pflag.Flag, fits func(*pflag.Flag) bool) []*pflag.Flag {
	var some []*pflag.Flag
	for _, f := range flags {
		if fits(f) {
			some = append(some, f)
		}
	}
	return some
}

var targetOption = regexp.MustCompile(`^-(m[a-z-]+|num-cores|device|model|keys)=`)

// checkShort finds long flags and options of targets that were written with one dash.
func checkShort(cmd *cobra.Command, arg string) error {
	if targetOption.MatchString(arg) {
		return fmt.Errorf("%s is an option of the target: write it inside the quotes, --target \"llvm %s\"", arg, arg)
	}
	name, _, _ := strings.Cut(arg[1:], "=")
	if len(name) > 1 {
		for _, f := range flagsOf(cmd) {
			if f.Name == name {
				return fmt.Errorf("unknown flag -%s; did you mean --%s?", name, name)
			}
		}
	}
	if shortFlag(cmd, arg[1:2]) != nil {
		return nil
	}
	var names []string
	for _, f := range flagsOf(cmd) {
		names = append(names, f.Name)
	}
	near := spelling.Near(name, names)
	if len(near) == 0 {
		return fmt.Errorf("unknown flag %s", arg)
	}
	return fmt.Errorf("unknown flag %s; did you mean --%s?", arg, strings.Join(near, ", --"))
}
