package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// busyCommand makes this program keep a part of a processor busy, until its standard input ends.
const busyCommand = "busy"

const (
	busyPeriod = 40 * time.Millisecond // of work and rest together
	busyBytes  = 16 << 20              // that the work goes through: it takes from caches and memory what other programs would
)

// keepBusy starts a process that works for a share of the time, from 0 to 1, and returns what ends it.
func keepBusy(ctx context.Context, share float64) (end func() error, err error) {
	if share == 0 {
		return func() error { return nil }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, busyCommand, strconv.FormatFloat(share, 'g', -1, 64))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("the load does not start: %w", err), end())
	}
	return end, nil
}

// busyChild is the child of keepBusy.
func busyChild(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: bench %s SHARE", busyCommand)
	}
	share, err := strconv.ParseFloat(args[0], 64)
	if err != nil || !(share > 0 && share <= 1) {
		return fmt.Errorf("bench %s: %q is not a share of a processor, which is above 0 and at most 1", busyCommand, args[0])
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // who started it has ended
	}()
	if _, err := os.Stdout.WriteString("."); err != nil { // the load begins
		return err
	}
	work(share, nil)
	return nil
}

// work alternates work and rest until stop is closed.
func work(share float64, stop <-chan struct{}) {
	memory := make([]byte, busyBytes)
	on := time.Duration(share * float64(busyPeriod))
	for at := 0; ; {
		for start := time.Now(); time.Since(start) < on; {
			for range 1 << 10 {
				memory[at]++
				at = (at + 64) % len(memory)
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(busyPeriod - on):
		}
	}
}
