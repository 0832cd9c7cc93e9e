package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/version"
	"lathe/internal/toolchain"
)

func (a *app) passesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "passes",
		Short: "list the passes of the compiler",
		Long: `List the passes of the compiler in the order they run, and from which -O level on.

  lathe passes
  lathe passes --json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return cli.JSON(a.Out, passData(lathe.Passes()))
			}
			w := a.Table()
			w.Row("PASS", "PHASE", "FROM", "WHAT IT DOES")
			for _, p := range lathe.Passes() {
				level := fmt.Sprintf("-O%d", p.Level)
				if p.Required {
					level = "always"
				}
				w.Row(p.Name, p.Phase, level, p.Doc)
			}
			return w.Flush()
		},
	}
	cli.JSONVar(cmd, &asJSON)
	return cmd
}

func (a *app) opsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "list the operators the compiler knows",
		Long: `List the operators of the compiler's graphs, by Relay's names. Which operators of ONNX become which of these,
docs/onnx.md lists; which of them a model uses, 'lathe inspect MODEL' does.

  lathe ops
  lathe ops --json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return cli.JSON(a.Out, opData(lathe.Operators()))
			}
			w := a.Table()
			w.Row("OPERATOR", "FUSION", "IMPLEMENTATIONS", "WHAT IT COMPUTES")
			for _, o := range lathe.Operators() {
				w.Row(o.Name, o.Class, strings.Join(o.Implementations, " "), o.Doc)
			}
			return w.Flush()
		},
	}
	cli.JSONVar(cmd, &asJSON)
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return cli.JSON(a.Out, versionJSON{version.Number, version.Text(), toolchain.Version()})
			}
			_, err := fmt.Fprintln(a.Out, lathe.Version())
			return err
		},
	}
	cli.JSONVar(cmd, &asJSON)
	return cmd
}
