package main

import (
	"context"
	"fmt"
	"slices"
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
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := findCommand(root, args)
	if err != nil {
		return &usageError{"lathe", err}
	}
	if !cmd.DisableFlagParsing {
		cmd.InitDefaultHelpFlag()
		expanded, err := expand(cmd, rest)
		if err != nil {
			return asUsage(cmd, err)
		}
		args = append(slices.Clone(args[:len(args)-len(rest)]), expanded...)
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// findCommand returns the subcommand and the arguments behind its name. Global flags may stand before it.
func findCommand(root *cobra.Command, args []string) (*cobra.Command, []string, error) {
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		var names []string
		for _, c := range root.Commands() {
			if c.Name() == arg {
				return c, args[i+1:], nil
			}
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		if arg == "micro" {
			return nil, nil, fmt.Errorf("command micro is not supported: microTVM ended with TVM 0.18")
		}
		if strings.HasPrefix(arg, "__complete") {
			return root, nil, nil
		}
		return nil, nil, fmt.Errorf("unknown command %q (choose from %s)%s", arg, strings.Join(names, ", "), spelling.Hint(arg, names))
	}
	return root, args, nil
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
