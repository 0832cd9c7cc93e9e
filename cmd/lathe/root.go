package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/run"
)

// commands is the table of subcommands; each has a file of its own.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.compileCommand(), run.Command(a.App, "lathe run", measurePeaks, recompile), a.tuneCommand(), a.recordsCommand(), a.inspectCommand(), a.importCommand(), a.quantizeCommand(), a.verifyCommand(), a.evaluateCommand(),
		a.sourcesCommand(), a.targetsCommand(), a.machineCommand(), a.passesCommand(), a.opsCommand(), a.versionCommand(),
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lathe",
		Short: "Compile trained models into packages that run without a framework",
		RunE: func(cmd *cobra.Command, args []string) error {
			if v, _ := cmd.Flags().GetBool("version"); v {
				fmt.Fprintln(a.Out, lathe.Version())
				return nil
			}
			cmd.SetOut(a.Err)
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.ErrNoCommand
		},
	}
	root.Flags().Bool("version", false, "print the version and exit")
	root.AddCommand(a.commands()...)
	a.Finish(root)
	return root
}
