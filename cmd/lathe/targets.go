package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lathe/internal/cli"
	"lathe/internal/target"
)

func (a *app) targetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "list the targets that have names, and the CPUs with what the compiler uses of them",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "PRESET\tTARGET\tWHAT IT IS")
			for _, p := range target.Presets() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Target, p.Doc)
			}
			fmt.Fprintln(w, "\nCPU\tARCHITECTURE\tVECTORS\tFEATURES")
			for _, arch := range target.Arches() {
				for _, cpu := range target.CPUs(arch) {
					t, err := target.OfCPU(arch, cpu)
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cpu, arch, t.Vectors(), strings.Join(t.Features, " "))
				}
			}
			return w.Flush()
		},
	}
}
