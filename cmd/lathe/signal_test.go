package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lathe/internal/cli"
)

const childVariable = "LATHE_TEST_COMMAND"

// TestSignalChild is the command of TestSignals: one that ends with its context, or one that never looks at it.
func TestSignalChild(t *testing.T) {
	kind := os.Getenv(childVariable)
	if kind == "" {
		t.Skip("runs in a child of TestSignals")
	}
	cli.Main("lathe", func(ctx context.Context, a *cli.App, _ []string) int {
		if err := os.WriteFile(os.Getenv(childVariable+"_READY"), nil, 0o666); err != nil {
			return 1
		}
		if kind == "deaf" {
			select {}
		}
		return a.Run(ctx, func() *cobra.Command {
			return &cobra.Command{Use: "wait", RunE: func(cmd *cobra.Command, _ []string) error {
				<-cmd.Context().Done()
				return fmt.Errorf("in a phase: %w", cmd.Context().Err())
			}}
		}, nil)
	})
}

// TestSignals: SIGINT, SIGTERM and SIGHUP end a command whether or not it looks at its context, with the code that shells
// report for the signal.
func TestSignals(t *testing.T) {
	for _, kind := range []string{"deaf", "polite"} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			ready := filepath.Join(t.TempDir(), "ready")
			cmd := exec.Command(os.Args[0], "-test.run", "TestSignalChild")
			cmd.Env = append(os.Environ(), childVariable+"="+kind, childVariable+"_READY="+ready)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(ready); err == nil {
					break
				}
				if time.Now().After(deadline) {
					cmd.Process.Kill()
					t.Fatal("the child does not begin")
				}
			}
			hang := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			cmd.Process.Signal(s)
			err := cmd.Wait()
			hang.Stop()
			var exit *exec.ExitError
			want := 128 + int(s)
			code := 0
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			if code != want {
				t.Errorf("%s, %v: exit code %d, want %d", kind, s, code, want)
			}
		}
	}
}
