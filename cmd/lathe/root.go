package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/spelling"
)

// commands is the table of subcommands; each has a file of its own.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.compileCommand(), a.runCommand(), a.tuneCommand(), a.inspectCommand(), a.verifyCommand(), a.passesCommand(),
		a.opsCommand(), a.versionCommand(),
	}
}

// unusableGlobal are tvmc's flags of all commands that do not work yet.
var unusableGlobal = []unusableFlag{{name: "config", harmless: []string{"default"}}}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "lathe",
		Short:         "Compile trained models into packages that run without a framework",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v, _ := cmd.Flags().GetBool("version"); v {
				fmt.Fprintln(a.out, lathe.Version())
				return nil
			}
			cmd.SetOut(a.err)
			if err := cmd.Help(); err != nil {
				return err
			}
			return errNoCommand
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Flags().Bool("version", false, "print the version and exit")
	addUnusable(root, unusableGlobal)
	root.PersistentFlags().AddFlag(root.Flags().Lookup("config"))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return refuseUnusable(cmd, unusableGlobal) }
	root.PersistentFlags().CountVarP(&a.verbose, "verbose", "v", "tell more; repeat for still more")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd.CommandPath(), err} })
	root.AddCommand(a.commands()...)
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(printHelp)
	return root
}

func (a *app) execute(ctx context.Context, args []string) error {
	root := a.root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		root.SetArgs(args) // a shell asks for completions; cobra answers
		return root.ExecuteContext(ctx)
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpFlag()
	cmd, global, rest, err := split(root, args)
	if err != nil {
		return asUsage(root, err)
	}
	if cmd != root {
		if !cmd.DisableFlagParsing {
			cmd.InitDefaultHelpFlag()
			if rest, err = expand(cmd, rest); err != nil {
				return asUsage(cmd, err)
			}
		}
		rest = append([]string{cmd.Name()}, rest...)
	}
	root.SetArgs(append(append([]string{}, global...), rest...)) // not nil, which cobra takes for os.Args
	return root.ExecuteContext(ctx)
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
		return nil, &unsupportedError{"command micro", "microTVM ended with TVM 0.18"}
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

// asUsage wraps err in a usageError unless it is about something that is recognised and does not work.
func asUsage(cmd *cobra.Command, err error) error {
	if _, ok := err.(*unsupportedError); ok {
		return err
	}
	return &usageError{cmd.CommandPath(), err}
}

// oneFile checks that there is exactly one positional argument.
func oneFile(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return &usageError{cmd.CommandPath(), fmt.Errorf("%s: the %s is missing", cmd.Name(), what)}
		case 1:
			return nil
		}
		return &usageError{cmd.CommandPath(), fmt.Errorf("%s: one %s is wanted, there are %d: %s", cmd.Name(), what, len(args), strings.Join(args, " "))}
	}
}

// noArguments is cobra.NoArgs with our exit code.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd.CommandPath(), fmt.Errorf("%s: takes no arguments, there are: %s", cmd.Name(), strings.Join(args, " "))}
	}
	return nil
}
