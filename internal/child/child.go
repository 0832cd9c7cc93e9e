// Package child runs dangerous work in processes of their own: compilers and code that may crash, hang or take all memory. A child
// answers one question at a time; one that ends, is silent for too long or grows too large is killed, and says why.
package child

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lathe/internal/fault"
	"lathe/internal/tool/spelling"
)

// Serve answers the questions that come from r, one after the other. When r ends, which it does with whoever asks, it ends the
// process, even in the middle of an answer. A panic is an answer that fails.
func Serve[Q, A any](r io.Reader, w io.Writer, answer func(Q) (A, error)) error {
	questions := make(chan Q)
	go func() {
		d := gob.NewDecoder(bufio.NewReader(r))
		for {
			var q Q
			if err := d.Decode(&q); err != nil {
				os.Exit(0)
			}
			questions <- q
		}
	}()
	out := bufio.NewWriter(w)
	e := gob.NewEncoder(out)
	for q := range questions {
		var a reply[A]
		err := fault.Guard(func() (err error) { a.Answer, err = answer(q); return err })
		if err != nil {
			a.Error = err.Error()
		}
		if err := errors.Join(e.Encode(a), out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// A reply is an answer, or why there is none.
type reply[A any] struct {
	Answer A
	Error  string
}

// A Command is how a child is started.
type Command struct {
	Path string
	Args []string
	// Memory bounds the bytes that it may hold; 0: any number.
	Memory int64
}

// A Process is a child.
type Process[Q, A any] struct {
	command Command
	cmd     *exec.Cmd
	in      io.WriteCloser
	e       *gob.Encoder
	answers chan reply[A]
	ended   chan struct{}
	said    words
	once    sync.Once
}

// Start starts a child.
func Start[Q, A any](c Command) (*Process[Q, A], error) {
	p := &Process[Q, A]{command: c, cmd: exec.Command(c.Path, c.Args...), answers: make(chan reply[A]), ended: make(chan struct{})}
	p.cmd.Stderr = &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for who started it
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	p.e = gob.NewEncoder(p.in)
	go p.listen(out)
	return p, nil
}

// listen hands on answers until there are no more.
func (p *Process[Q, A]) listen(out io.Reader) {
	defer close(p.ended)
	d := gob.NewDecoder(bufio.NewReader(out))
	for {
		var a reply[A]
		if err := d.Decode(&a); err != nil {
			p.cmd.Process.Kill() // it ended, or says what nobody understands
			p.cmd.Wait()
			return
		}
		p.answers <- a
	}
}

// An Error is an answer that says why there is none: the child goes on.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// A Death is the end of a child.
type Death struct {
	Silent bool // it was killed for it
	Large  bool // it was killed for it
	Cause  string
}

func (d *Death) Error() string { return d.Cause }

// Ask asks and waits for the answer, for at most limit; 0: without end. The error is an *Error, a *Death, behind which the process is
// gone, or of ctx, which kills it too.
func (p *Process[Q, A]) Ask(ctx context.Context, q Q, limit time.Duration) (a A, err error) {
	sent := make(chan error, 1)
	go func() { sent <- p.e.Encode(q) }() // a child that does not read must not hold us up
	waited, last := time.Duration(0), time.Now()
	const tick = 100 * time.Millisecond
	look := time.NewTicker(tick)
	defer look.Stop()
	for {
		select {
		case r := <-p.answers:
			if r.Error != "" {
				return a, &Error{r.Error}
			}
			return r.Answer, nil
		case <-p.ended:
			return a, &Death{Cause: p.lastWords()}
		case <-ctx.Done():
			p.Close()
			return a, ctx.Err()
		case now := <-look.C:
			waited += min(now.Sub(last), 2*tick) // while this process stood still, so may the child have
			if last = now; limit > 0 && waited > limit {
				p.Close()
				return a, &Death{Silent: true, Cause: fmt.Sprintf("it gave no answer for %v", limit)}
			}
			if size := p.Resident(); p.command.Memory > 0 && size > p.command.Memory {
				p.Close()
				return a, &Death{Large: true, Cause: fmt.Sprintf("it took %s of memory", spelling.Count(int(size>>20), "MiB"))}
			}
		case err := <-sent:
			sent = nil
			if err != nil {
				p.cmd.Process.Kill()
			}
		}
	}
}

// Resident is the bytes of memory that the process holds; 0 where that is not known.
func (p *Process[Q, A]) Resident() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
		pages, _ := strconv.ParseInt(f[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// Close ends the process.
func (p *Process[Q, A]) Close() {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		p.in.Close()
		for {
			select {
			case <-p.answers:
				continue
			case <-p.ended:
			}
			return
		}
	})
}

// lastWords is how the process ended, and the first line of what it said about it.
func (p *Process[Q, A]) lastWords() string {
	text := "it ended"
	if s := p.cmd.ProcessState; s != nil {
		text = "it ended: " + s.String()
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(p.said.String()), "\n"); line != "" {
		text += ": " + line
	}
	return text
}

// words keep the beginning of what is written to it, where a crash says what it is.
type words struct {
	sync.Mutex
	b []byte
}

func (t *words) Write(b []byte) (int, error) {
	const most = 4 << 10
	t.Lock()
	defer t.Unlock()
	t.b = append(t.b, b[:min(len(b), max(0, most-len(t.b)))]...)
	return len(b), nil
}

func (t *words) String() string {
	t.Lock()
	defer t.Unlock()
	return string(t.b)
}
