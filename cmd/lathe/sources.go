package main

import (
	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/cli"
)

func (a *app) sourcesCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "write the runtime for C and C++: lathe.h, lathe.hpp and lathe.c",
		Long: `Write the source files with which programs in C and C++ run packages, or link a compiled model: lathe.h, lathe.hpp
and lathe.c. docs/deploy-c.md shows their use.

  lathe sources -o lathe-c
  cc -Ilathe-c program.c lathe-c/lathe.c -ldl -lpthread`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return lathe.WriteRuntimeSources(folder) },
	}
	cmd.Flags().StringVarP(&folder, "output", "o", ".", "`folder` to write to")
	return cmd
}
