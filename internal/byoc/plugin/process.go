package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Limits of what a program may take: time for an answer, and the length of one.
const (
	helloLimit = 10 * time.Second
	workLimit  = 10 * time.Minute
	mostAnswer = 64 << 20
)

// A program is an executable.
type program struct {
	path  string
	hello time.Duration
	work  time.Duration
}

// ask starts the program, greets it and, unless q is nil, asks q. The answers go to first and second. The program is ended then: each
// request has a process of its own, so that one leaves nothing to the next.
func (p program) ask(ctx context.Context, first *hello, q *request, second any) error {
	cmd := exec.Command(p.path)
	said := &tail{}
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for us, who end it
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.path, err)
	}
	defer func() {
		in.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // and what it started
		cmd.Wait()
	}()
	answers := bufio.NewReader(out)
	if err := p.exchange(ctx, in, answers, request{Request: "hello", Protocol: Version}, first, p.hello, said); err != nil {
		return err
	}
	if q == nil {
		return nil
	}
	return p.exchange(ctx, in, answers, *q, second, p.work, said)
}

// exchange sends a request and reads the answer.
func (p program) exchange(ctx context.Context, in io.Writer, out *bufio.Reader, q request, answer any, limit time.Duration, said *tail) error {
	type read struct {
		line []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		b, err := json.Marshal(q)
		if err == nil {
			in.Write(append(b, '\n')) // a program that does not read shows in its answer
			b, err = readLine(out)
		}
		got <- read{b, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("no answer to %q within %v", q.Request, limit)
	case r := <-got:
		if errors.Is(r.err, io.EOF) {
			return fmt.Errorf("it ended without an answer to %q%s", q.Request, said.words())
		}
		if r.err != nil {
			return fmt.Errorf("answer to %q: %w", q.Request, r.err)
		}
		if err := json.Unmarshal(r.line, answer); err != nil {
			return fmt.Errorf("answer to %q: %q is not the JSON that is wanted: %w", q.Request, line(string(r.line)), err)
		}
		return nil
	}
}

// readLine reads a line of limited length.
func readLine(r *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case len(all) > mostAnswer:
			return nil, fmt.Errorf("longer than %d MiB", mostAnswer>>20)
		case err == nil:
			return all, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(all)) > 0:
			return all, nil
		default:
			return nil, io.EOF
		}
	}
}

// A tail keeps the end of what a program says for people.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4096
	t.last = append(t.last, b...)
	if n := len(t.last); n > most {
		t.last = append([]byte{}, t.last[n-most:]...)
	}
	return len(b), nil
}

// words are the last line, behind a colon.
func (t *tail) words() string {
	time.Sleep(50 * time.Millisecond) // what it says arrives by another way than its end
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.last), []byte("\n"))
	if text := line(string(lines[len(lines)-1])); text != "" {
		return ": " + text
	}
	return ""
}
