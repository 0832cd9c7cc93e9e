// Command lathe-run is 'lathe run' by itself: it holds no compiler, builds with CGO_ENABLED=0 for every machine that the
// runtime knows, and is one small file to copy to a device.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/run"
	"lathe/internal/tool/profile"
	"lathe/internal/tool/version"
)

const name = "lathe-run"

func main() { cli.Main(name, execute) }

func execute(ctx context.Context, a *cli.App, args []string) int {
	return a.Run(ctx, func() *cobra.Command { return command(a) }, args)
}

func command(a *cli.App) *cobra.Command {
	cmd := run.Command(a, name, unknownPeaks, nil)
	cmd.Flags().Bool("version", false, "print the version and exit")
	cmd.Flags().Lookup("version").DefValue = ""
	a.Finish(cmd)
	oneFile, runFile := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if versionWanted(cmd) {
			return cli.NoArguments(cmd, args)
		}
		return oneFile(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if versionWanted(cmd) {
			_, err := fmt.Fprintln(a.Out, name, version.Text())
			return err
		}
		return runFile(cmd, args)
	}
	return cmd
}

func versionWanted(cmd *cobra.Command) bool {
	wanted, err := cmd.Flags().GetBool("version")
	return err == nil && wanted
}

// unknownPeaks does the work: the loops that measure a machine are compiled, and there is no compiler here.
func unknownPeaks(_ int, work func() error) (profile.Peaks, error) {
	if err := work(); err != nil {
		return profile.Peaks{}, err
	}
	return profile.Peaks{}, errors.New("measuring it takes the compiler: 'lathe run --profile' does")
}
