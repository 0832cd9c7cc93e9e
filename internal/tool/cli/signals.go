package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A signalError is why a context ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return e.signal.String() }

// exitOf is the exit code for a context that ended so.
func exitOf(cause error) int {
	var s signalError
	if errors.As(cause, &s) {
		return ExitSignal + int(s.signal)
	}
	return ExitFailed
}

// grace is how long a command may take to end by itself after a signal. Most look at their context much more often; a run of
// generated code, a read from a pipe that nobody writes to and a long function of LLVM cannot. Nobody gains from waiting for
// those: what they would clean up has no name and ends with the process. The kernel takes as long again to free a large process.
const grace = 200 * time.Millisecond

// watch ends ctx when a signal asks the process to end, and the process when it has not ended by itself soon after. A second
// signal ends it at once. Nothing half-written stays, and no other process: files have no name before they are complete, and LLVM
// and lld run in this process. Signals that the parent told to ignore, as nohup does, stay ignored.
func (a *App) watch(cancel context.CancelCauseFunc) {
	var wanted []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	if wanted == nil {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, wanted...)
	go func() {
		s := (<-signals).(syscall.Signal)
		signal.Reset(wanted...)
		cause := signalError{s}
		cancel(cause)
		time.Sleep(grace)
		fmt.Fprintf(a.Err, "%s: interrupted\n", a.Name)
		os.Exit(exitOf(cause))
	}()
}
