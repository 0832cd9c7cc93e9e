package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/cli"
)

func (a *app) passesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "passes",
		Short: "list the passes of the compiler",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "PASS\tPHASE\tFROM\tWHAT IT DOES")
			for _, p := range lathe.Passes() {
				level := fmt.Sprintf("-O%d", p.Level)
				if p.Required {
					level = "always"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, p.Phase, level, p.Doc)
			}
			return w.Flush()
		},
	}
}

func (a *app) opsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ops",
		Short: "list the operators the compiler knows",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "OPERATOR\tFUSION\tIMPLEMENTATIONS\tWHAT IT COMPUTES")
			for _, o := range lathe.Operators() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.Name, o.Class, strings.Join(o.Implementations, " "), o.Doc)
			}
			return w.Flush()
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Out, lathe.Version())
			return err
		},
	}
}

// tuneCommand takes any arguments: none of them can be right yet.
func (a *app) tuneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                "tune FILE",
		Short:              "search for faster schedules (does not work yet)",
		Long:               "Search for faster schedules. This does not work yet; compile chooses schedules by itself.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "-h" || arg == "--help" {
					return cmd.Help()
				}
			}
			return &cli.UnsupportedError{What: "command tune", Why: "there is no tuner yet; compile chooses schedules by itself"}
		},
	}
	return cmd
}
