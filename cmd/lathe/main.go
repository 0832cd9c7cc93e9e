// Command lathe compiles trained models into packages and runs them, with the commands and flags of Apache TVM's tvmc.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"lathe"
	"lathe/internal/compile"
	"lathe/internal/tool/cli"
)

func main() {
	if child, err := lathe.TuneChild(); child {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(cli.ExitFailed)
		}
		return
	}
	cli.Main("lathe", func(ctx context.Context, c *cli.App, args []string) int { return (&app{c}).run(ctx, args) })
}

// app is where a command writes to.
type app struct{ *cli.App }

// heapGrowth is the percentage by which the heap grows before it is collected, unless GOGC says another. What lives there is small beside the models,
// which are not on the heap: at Go's 100 percent a compilation is collected sixty times in its first second.
const heapGrowth = 200

// run executes the command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if d, err := compile.ParseDebug(os.Getenv(compile.DebugVariable)); err == nil && d.Help {
		fmt.Fprint(a.Out, compile.DebugHelp)
		return cli.ExitOK
	}
	return a.Run(ctx, a.root, args)
}
