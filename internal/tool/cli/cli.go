// Package cli is what the command lines of this repository share: running a command, its exit codes and errors, argparse's
// habits on top of cobra, flags, help, and files that appear complete or not at all.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"lathe/internal/tool/excerpt"
)

// Exit codes, which are tvmc's.
const (
	ExitOK          = 0
	ExitNothingToDo = 1   // no subcommand
	ExitUsage       = 2   // the command line is malformed
	ExitFailed      = 4   // the model, package or target could not be handled
	ExitSignal      = 128 // and the number of the signal, as shells report it
)

// App is where a program writes to.
type App struct {
	Name     string // of the program, in front of messages
	Out, Err io.Writer
	Terminal bool // Err is a terminal
	Columns  int  // width of the terminal that Out is; 0 when it is none
	Verbose  int
}

// Main runs a program on the command line of the process and ends the process.
func Main(name string, run func(ctx context.Context, a *App, args []string) int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &App{Name: name, Out: os.Stdout, Err: os.Stderr, Terminal: isTerminal(os.Stderr), Columns: columns(os.Stdout)}
	a.watch(cancel)
	os.Exit(run(ctx, a, os.Args[1:]))
}

// Run executes a command line with the command that root makes, and returns the exit code. Errors are printed as one line
// each, behind the program's name. What a model holds does nothing to a terminal, wherever a command prints it.
func (a *App) Run(ctx context.Context, root func() *cobra.Command, args []string) int {
	out := &loss{Writer: a.Out}
	text := &excerpt.Writer{W: out}
	a.Out = text
	err := execute(ctx, root(), args)
	if lost := cmp.Or(text.Flush(), out.err); err == nil {
		err = lost
	}
	var usage *UsageError
	err = excerpt.Error(err)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrNoCommand):
		return ExitNothingToDo
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintf(a.Err, "%s: interrupted\n", a.Name)
		return exitOf(context.Cause(ctx))
	case errors.As(err, &usage):
		fmt.Fprintf(a.Err, "%s: %v\n", a.Name, err)
		fmt.Fprintf(a.Err, "%s: '%s --help' lists the flags\n", a.Name, usage.Command)
		return ExitUsage
	}
	fmt.Fprintf(a.Err, "%s: %v\n", a.Name, err)
	return ExitFailed
}

// Note tells the user something that is not an error.
func (a *App) Note(text string) { fmt.Fprintf(a.Err, "%s: note: %s\n", a.Name, excerpt.Message(text)) }

// Log is Note for those who asked for details with -v.
func (a *App) Log(format string, args ...any) {
	if a.Verbose > 0 {
		fmt.Fprintf(a.Err, "%s: %s\n", a.Name, excerpt.Message(fmt.Sprintf(format, args...)))
	}
}

// UsageError is a malformed command line.
type UsageError struct {
	Command string // "lathe run"
	Err     error
}

// Usagef returns a UsageError of a command, "lathe run".
func Usagef(command, format string, args ...any) error {
	return &UsageError{command, fmt.Errorf(format, args...)}
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// ErrNoCommand says that the command line is empty where it needs a subcommand.
var ErrNoCommand = errors.New("no command")

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
