package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/tool/cli"
)

// notFolders are extensions of what is no folder.
var notFolders = []string{".c", ".h", ".hpp", ".cc", ".cpp", ".tar", ".zip"}

func (a *app) sourcesCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "write the runtime for C and C++: lathe.c and its headers",
		Long: `Write the source files with which programs in C and C++ run packages, or link a compiled model: lathe.h, lathe.hpp,
lathe_external.h and lathe.c. docs/deploy-c.md shows their use.

  lathe sources -o lathe-c
  cc -Ilathe-c program.c lathe-c/lathe.c -ldl -lpthread`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(folder); err != nil && slices.Contains(notFolders, cli.Extension(folder)) {
				return cli.Usagef(cmd.CommandPath(), "flag --output %s: several files are written: name a folder", folder)
			}
			return lathe.WriteRuntimeSources(folder)
		},
	}
	cli.FolderVarP(cmd.Flags(), &folder, "output", "o", ".", "`folder` to write to")
	return cmd
}
