package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/onnxtest"
	"lathe/internal/tool/cli"
	"lathe/internal/types"
)

const childVariable = "LATHE_TEST_COMMAND"

// TestSignalChild is the command of TestSignals: one that ends with its context, one that never looks at it, or a command line.
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
		if kind == "command" {
			return (&app{a}).run(ctx, strings.Split(os.Getenv(childVariable+"_ARGS"), "\n"))
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
// report for the signal. A signal that is ignored here, as nohup has it for SIGHUP, is ignored by commands too.
func TestSignals(t *testing.T) {
	for _, kind := range []string{"deaf", "polite"} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if signal.Ignored(s) {
				t.Logf("%v is ignored by what runs these tests", s)
				continue
			}
			cmd := startChild(t, kind)
			hang := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			cmd.Process.Signal(s)
			cmd.Wait()
			hang.Stop()
			if code, want := cmd.ProcessState.ExitCode(), 128+int(s); code != want {
				t.Errorf("%s, %v: exit code %d, want %d", kind, s, code, want)
			}
		}
	}
}

// startChild starts TestSignalChild, in a process group of its own, and returns when it has begun.
func startChild(t *testing.T, kind string, environment ...string) *exec.Cmd {
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command(os.Args[0], "-test.run", "TestSignalChild")
	cmd.Env = append(append(os.Environ(), childVariable+"="+kind, childVariable+"_READY="+ready), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			return cmd
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			t.Fatal("the child does not begin")
		}
	}
}

// longCommands are command lines that take many seconds, in a folder with their files, by what they are at when a signal comes.
func longCommands(t *testing.T, dir string) map[string][]string {
	file := func(name string, g *onnxtest.Graph) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, onnxtest.Model(g), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	product := file("product.onnx", &onnxtest.Graph{
		Inputs: []onnxtest.Value{onnxtest.V("a", types.F32, 4096, 4096)}, Outputs: []onnxtest.Value{onnxtest.V("y", types.F32, 4096, 4096)},
		Nodes: []onnxtest.Node{onnxtest.N("MatMul a a -> b"), onnxtest.N("MatMul b b -> c"), onnxtest.N("MatMul c c -> y")},
	})
	long := &onnxtest.Graph{Inputs: []onnxtest.Value{onnxtest.V("x0", types.F32, 64)}}
	const nodes = 20000
	for i := range nodes {
		long.Nodes = append(long.Nodes, onnxtest.N(fmt.Sprintf("Sin x%d -> x%d", i, i+1)))
	}
	long.Outputs = []onnxtest.Value{onnxtest.V(fmt.Sprintf("x%d", nodes), types.F32, 64)}
	kernels := &onnxtest.Graph{Inputs: []onnxtest.Value{onnxtest.V("x", types.F32, 1, 3, 40, 40)}}
	for i := range 400 {
		w, y := fmt.Sprintf("w%d", i), fmt.Sprintf("y%d", i)
		kernels.Weights = append(kernels.Weights, onnxtest.Random(w, i+1, 3, 3, 3))
		kernels.Nodes = append(kernels.Nodes, onnxtest.N("Conv x "+w+" -> "+y))
		kernels.Outputs = append(kernels.Outputs, onnxtest.V(y, types.F32, 1, i+1, 38, 38))
	}
	pkg := filepath.Join(dir, "product.tar")
	if _, errs, code := latheCommand(t, "compile", "-o", pkg, product); code != 0 {
		t.Fatal(errs)
	}
	pipe := filepath.Join(dir, "pipe.tar") // nobody writes to it
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"inspect --check": {"inspect", "--check", pipe},
		"import":          {"inspect", file("long.onnx", long)},
		"LLVM":            {"compile", "-o", filepath.Join(dir, "kernels.tar"), file("kernels.onnx", kernels)},
		"verify":          {"verify", product},
		"verify --per-op": {"verify", "--per-op", product},
		"run":             {"run", "--print-time", "--repeat", "1000", pkg},
		"run --profile":   {"run", "--profile", "--repeat", "1000", pkg},
	}
}

// TestSignalsAtWork: whatever a command is at, it ends within a second of a signal, also when the machine is busy, and leaves
// neither a file nor a process. A machine may be too busy once.
func TestSignalsAtWork(t *testing.T) {
	dir := t.TempDir()
	commands := longCommands(t, dir)
	before := golden.Names(t, dir)
	for name, args := range commands {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			var took time.Duration
			for range 3 {
				temp := t.TempDir()
				cmd := startChild(t, "command", childVariable+"_ARGS="+strings.Join(args, "\n"), "TMPDIR="+temp)
				time.Sleep(700 * time.Millisecond)
				start := time.Now()
				cmd.Process.Signal(s)
				hang := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
				cmd.Wait()
				hang.Stop()
				took = time.Since(start)
				if code, want := cmd.ProcessState.ExitCode(), 128+int(s); code != want {
					t.Errorf("%s, %v: exit code %d, want %d", name, s, code, want)
				}
				if err := syscall.Kill(-cmd.Process.Pid, 0); err != syscall.ESRCH {
					t.Errorf("%s, %v: processes are left: %v", name, s, err)
				}
				if left := golden.Names(t, temp); left != "" {
					t.Errorf("%s, %v: temporary files are left: %s", name, s, left)
				}
				if took < time.Second {
					break
				}
			}
			if took >= time.Second {
				t.Errorf("%s, %v: took %v", name, s, took)
			}
			t.Logf("%s, %v: %v", name, s, took)
		}
	}
	if after := golden.Names(t, dir); after != before {
		t.Errorf("files %s, before there were %s", after, before)
	}
}
