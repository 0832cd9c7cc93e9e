package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/tool/spelling"
)

// unusableGlobal are tvmc's flags of all commands that do not work yet.
var unusableGlobal = []UnusableFlag{{Name: "config", Harmless: []string{"default"}}}

// Finish gives a program's root command, subcommands included, the global flags, help and errors of this package.
func (a *App) Finish(root *cobra.Command) {
	root.SilenceUsage, root.SilenceErrors = true, true
	AddUnusable(root, unusableGlobal)
	root.PersistentFlags().AddFlag(root.Flags().Lookup("config"))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return cmp.Or(RefuseUnusable(cmd, unusableGlobal), refuseUnwritable(cmd))
	}
	root.PersistentFlags().CountVarP(&a.Verbose, "verbose", "v", "tell more; repeat for still more")
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &UsageError{cmd.CommandPath(), err} })
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(printHelp)
}

func execute(ctx context.Context, root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		root.SetArgs(args) // a shell asks for completions; cobra answers
		return root.ExecuteContext(ctx)
	}
	if at := slices.Index(args, helpTVMC); at >= 0 {
		cmd, _, _, err := split(root, args[:at])
		if !root.HasSubCommands() {
			cmd, err = root, nil
		}
		if err == nil {
			printRefused(cmd)
		}
		return err
	}
	args, err := Normal(root, args)
	if err != nil {
		return err
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// Normal rewrites a command line that argparse would take to one that cobra takes. The result is not nil, which cobra
// takes for os.Args.
func Normal(root *cobra.Command, args []string) ([]string, error) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpFlag()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "write the script by which a shell completes commands and flags"
			c.Args, c.RunE = cobra.ArbitraryArgs, needsShell
			c.Long = "Write the script by which a shell completes commands and flags.\n\n  source <(" + root.Name() + " completion bash)"
		}
	}
	if !root.HasSubCommands() {
		out, err := expand(root, args)
		if err != nil {
			return nil, asUsage(root, err)
		}
		return append([]string{}, out...), nil
	}
	cmd, global, rest, err := split(root, args)
	if err != nil {
		return nil, asUsage(root, err)
	}
	if cmd != root {
		if !cmd.DisableFlagParsing {
			cmd.InitDefaultHelpFlag()
			if rest, err = expand(cmd, rest); err != nil {
				return nil, asUsage(cmd, err)
			}
		}
		rest = append([]string{cmd.Name()}, rest...)
	}
	return append(append([]string{}, global...), rest...), nil
}

// needsShell is for a command whose subcommands are the shells that it knows.
func needsShell(cmd *cobra.Command, args []string) error {
	var shells []string
	for _, c := range cmd.Commands() {
		shells = append(shells, c.Name())
	}
	if len(args) == 0 {
		return Usagef(cmd.CommandPath(), "%s: the shell is missing (choose from %s)", cmd.Name(), strings.Join(shells, ", "))
	}
	return Usagef(cmd.CommandPath(), "%s: unknown shell %q (choose from %s)%s", cmd.Name(), args[0], strings.Join(shells, ", "), spelling.Hint(args[0], shells))
}

// split divides the command line into global flags, expanded, the subcommand, and what is behind its name.
func split(root *cobra.Command, args []string) (cmd *cobra.Command, global, rest []string, err error) {
	at := 0
	for at < len(args) && strings.HasPrefix(args[at], "-") {
		name, _, hasValue := strings.Cut(strings.TrimPrefix(args[at], "--"), "=")
		if strings.HasPrefix(args[at], "--") && !hasValue {
			if f, err := findLong(root, name); err == nil && f.NoOptDefVal == "" && f.Value.Type() != "bool" {
				at++
			}
		}
		at++
	}
	at = min(at, len(args))
	if global, err = expand(root, args[:at]); err != nil || at == len(args) {
		return root, global, nil, err
	}
	cmd, err = findCommand(root, args[at])
	return cmd, global, args[at+1:], err
}

// findCommand returns the subcommand with a name.
func findCommand(root *cobra.Command, name string) (*cobra.Command, error) {
	if name == "micro" {
		return nil, &UnsupportedError{"command micro", "microTVM ended with TVM 0.18"}
	}
	var names []string
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c, nil
		}
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return nil, fmt.Errorf("unknown command %q (choose from %s)%s", name, strings.Join(names, ", "), spelling.Hint(name, names))
}

// asUsage wraps err in a UsageError unless it is about something that is recognised and does not work.
func asUsage(cmd *cobra.Command, err error) error {
	if _, ok := err.(*UnsupportedError); ok {
		return err
	}
	return &UsageError{cmd.CommandPath(), err}
}

// OneFile checks that there is exactly one positional argument.
func OneFile(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			if !cmd.HasParent() { // the program is the command
				return Usagef(cmd.CommandPath(), "the %s is missing", what)
			}
			return Usagef(cmd.CommandPath(), "%s: the %s is missing", cmd.Name(), what)
		case 1:
			return nil
		}
		return Usagef(cmd.CommandPath(), "%s: one %s is wanted, there are %d: %s%s", cmd.Name(), what, len(args), strings.Join(args, " "), looseFile(cmd, args))
	}
}

// NoArguments is cobra.NoArgs with our exit code.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef(cmd.CommandPath(), "%s: takes no arguments, there are: %s", cmd.Name(), strings.Join(args, " "))
	}
	return nil
}
