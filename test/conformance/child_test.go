package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// childMark in the environment makes the test binary a child that runs cases. Generated code runs in children only, so
// that a fault in it is that case's failure and not the end of the test.
const childMark = "LATHE_CONFORMANCE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve answers each task on in with an outcome on out.
func serve(in io.Reader, out io.Writer) error {
	t, err := hostTarget()
	if err != nil {
		return err
	}
	tasks, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var k task
		if err := tasks.Decode(&k); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := results.Encode(runCase(t, k.Dir, k.Level)); err != nil {
			return err
		}
	}
}

func hostTarget() (*target.Target, error) {
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	return spec.Resolve(func() (target.Host, error) {
		h, err := toolchain.Host()
		h.Cores = 2
		return h, err
	})
}

// A child is a process that runs cases, started when needed and again after it dies.
type child struct {
	limit   time.Duration // for one case
	cmd     *exec.Cmd
	tasks   io.WriteCloser
	results *bufio.Reader
	stderr  *bytes.Buffer
}

func (c *child) start() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c.cmd = exec.Command(exe)
	c.cmd.Env = append(os.Environ(), childMark+"=1", "GOMAXPROCS=2")
	c.stderr = &bytes.Buffer{}
	c.cmd.Stderr = c.stderr
	if c.tasks, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.results = bufio.NewReader(stdout)
	return c.cmd.Start()
}

// run gives a task to the process and waits for its outcome.
func (c *child) run(k task) outcome {
	if c.cmd == nil {
		if err := c.start(); err != nil {
			return outcome{Kind: failed, Error: "starting a child: " + err.Error()}
		}
	}
	cmd := c.cmd
	late := time.AfterFunc(c.limit, func() { cmd.Process.Kill() })
	var o outcome
	err := json.NewEncoder(c.tasks).Encode(k)
	if err == nil {
		var line []byte
		if line, err = c.results.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &o)
		}
	}
	inTime := late.Stop()
	if err == nil {
		return o
	}
	stderr := c.stderr
	c.stop()
	if !inTime {
		return outcome{Kind: hung, Error: fmt.Sprintf("no result after %v", c.limit)}
	}
	return outcome{Kind: crashed, Error: firstLines(stderr.String(), 3)}
}

// stop ends the process, if it runs.
func (c *child) stop() {
	if c.cmd != nil {
		c.tasks.Close()
		c.cmd.Wait()
		c.cmd = nil
	}
}

func firstLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[:min(n, len(lines))], " / ")
}
