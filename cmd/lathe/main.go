// Command lathe compiles trained models into packages and runs them, with the commands and flags of Apache TVM's tvmc.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"lathe/internal/compile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the next one ends the process: generated code cannot be interrupted.
	context.AfterFunc(ctx, stop)
	a := &app{out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stderr)}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Exit codes, which are tvmc's.
const (
	exitOK          = 0
	exitNothingToDo = 1   // no subcommand
	exitUsage       = 2   // the command line is malformed
	exitFailed      = 4   // the model, package or target could not be handled
	exitInterrupted = 130 // what shells report for Ctrl-C
)

// app is where a command writes to.
type app struct {
	out, err io.Writer
	terminal bool // err is a terminal
	verbose  int
}

// run executes the command line and returns the exit code. Errors are printed as one line each, "lathe: ...".
func (a *app) run(ctx context.Context, args []string) int {
	if d, err := compile.ParseDebug(os.Getenv(compile.DebugVariable)); err == nil && d.Help {
		fmt.Fprint(a.out, compile.DebugHelp)
		return exitOK
	}
	out := &loss{Writer: a.out}
	a.out = out
	err := a.execute(ctx, args)
	if err == nil {
		err = out.err
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNoCommand):
		return exitNothingToDo
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintln(a.err, "lathe: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(a.err, "lathe: %v\n", err)
		fmt.Fprintf(a.err, "lathe: '%s --help' lists the flags\n", usage.command)
		return exitUsage
	}
	fmt.Fprintf(a.err, "lathe: %v\n", err)
	return exitFailed
}

// note tells the user something that is not an error.
func (a *app) note(text string) { fmt.Fprintf(a.err, "lathe: note: %s\n", text) }

// log is note for those who asked for details with -v.
func (a *app) log(format string, args ...any) {
	if a.verbose > 0 {
		fmt.Fprintf(a.err, "lathe: "+format+"\n", args...)
	}
}

// usageError is a malformed command line.
type usageError struct {
	command string // "lathe run"
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

var errNoCommand = errors.New("no command")

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
