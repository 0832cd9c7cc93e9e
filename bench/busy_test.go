package main

import (
	"testing"
	"time"

	"lathe/bench/process"
)

// TestBusy: a load takes about its share of one processor; on a machine that others use it may get less.
func TestBusy(t *testing.T) {
	before, start, stop, done := process.CPUTime(), time.Now(), make(chan struct{}), make(chan struct{})
	go func() { work(0.5, stop); close(done) }()
	time.Sleep(2 * time.Second)
	close(stop)
	<-done
	if got := float64(process.CPUTime()-before) / float64(time.Since(start)); got > 0.65 || got < 0.02 {
		t.Errorf("%.2f of a processor instead of 0.5", got)
	}
	for _, args := range [][]string{nil, {"x"}, {"0"}, {"2"}} {
		if err := busyChild(args); err == nil {
			t.Errorf("%v is taken for a share", args)
		}
	}
}

// TestChildren: what this program starts itself for is in the table of commands.
func TestChildren(t *testing.T) {
	for _, name := range []string{busyCommand, compileCommand, measureCommand, timesCommand} {
		if commands[name] == nil {
			t.Errorf("no command is named %q", name)
		}
	}
}
