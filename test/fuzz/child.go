package fuzz

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lathe/internal/testkit/graphtest"
)

// Cases run in child processes, several to each: generated code may fault, and a hang or too much memory ends a process only
// from outside.

// A Task asks a child for one case.
type Task struct {
	Seed     uint64
	Sources  []string
	Corpus   []string
	File     []byte // the case itself; nil: that of Seed
	Data     int
	Variants []string // names; none: all
	Generate bool     // only make the case
}

// A Reply is a line of what a child says: a step that begins, or in the end the outcome.
type Reply struct {
	Step    string   `json:",omitempty"`
	Done    bool     `json:",omitempty"`
	Outcome *Outcome `json:",omitempty"`
	Name    string   `json:",omitempty"`
	File    []byte   `json:",omitempty"` // of a finding
	Data    int      `json:",omitempty"`
}

// A Check judges a case in a child, and tells what it begins to do.
type Check func(c *Case, variants []string, step func(string)) Outcome

// Compiled is the check of this package: compiled code against the reference.
func Compiled(c *Case, variants []string, step func(string)) Outcome {
	checker := Checker{Step: step, Variants: chosen(variants)}
	return checker.Check(c)
}

// Serve answers tasks, in a child.
func Serve(in io.Reader, out io.Writer, check Check) error {
	debug.SetMemoryLimit(MemoryLimit * 3 / 4)
	tasks, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var k Task
		if err := tasks.Decode(&k); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		reply := k.run(check, func(s string) { replies.Encode(Reply{Step: s}) })
		reply.Done = true
		if err := replies.Encode(reply); err != nil {
			return err
		}
	}
}

func (k *Task) run(check Check, step func(string)) Reply {
	c := &Case{File: k.File, Seed: k.Seed}
	if k.File == nil {
		step("generate")
		s, err := NewSources(k.Corpus, k.Sources...)
		if err != nil {
			return Reply{Outcome: &Outcome{Kind: Errors, Detail: err.Error()}}
		}
		if o := guard("generate", func() (err error) { c, err = s.Make(k.Seed); return err }); o != nil {
			if o.Kind == Errors {
				o.Kind = Refused
			}
			return Reply{Outcome: o}
		}
	} else {
		c.Data = graphtest.Data(k.Data)
	}
	reply := Reply{Name: c.Name, Data: int(c.Data), Outcome: &Outcome{Kind: Right}}
	if k.Generate {
		reply.File = c.File
		return reply
	}
	o := check(c, k.Variants, step)
	reply.Outcome = &o
	if o.Finding() {
		reply.File = c.File
	}
	return reply
}

func chosen(names []string) []Variant {
	var list []Variant
	for _, v := range Variants {
		for _, n := range names {
			if v.Name == n || n == "all" {
				list = append(list, v)
			}
		}
	}
	return list
}

// MemoryLimit is what a case may take, and TimeLimit how long each of its steps may run.
const (
	MemoryLimit = 2 << 30
	TimeLimit   = 20 * time.Second // of the processor
	wallLimit   = 10 * TimeLimit
)

// A Child is a process that runs cases, started when needed and again after it ends.
type Child struct {
	Command func() *exec.Cmd
	Time    time.Duration // in place of TimeLimit
	Memory  int           // in place of MemoryLimit
	Peer    string        // a step of somebody else's code: what ends the process there is refused

	cmd     *exec.Cmd
	tasks   io.WriteCloser
	replies *bufio.Reader
	stderr  *head
	cases   int
}

// casesPerChild bounds what leaks and fragments of earlier cases add to a case.
const casesPerChild = 200

func (c *Child) start() (err error) {
	c.cmd = c.Command()
	c.stderr = &head{}
	c.cmd.Stderr = c.stderr
	if c.tasks, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.replies, c.cases = bufio.NewReaderSize(stdout, 1<<20), 0
	return c.cmd.Start()
}

// Stop ends the process, if it runs.
func (c *Child) Stop() {
	if c.cmd != nil {
		c.tasks.Close()
		c.cmd.Process.Kill()
		c.cmd.Wait()
		c.cmd = nil
	}
}

// Run gives a task to the process and waits for its outcome.
func (c *Child) Run(k Task) Reply {
	if c.cases++; c.cases > casesPerChild {
		c.Stop()
	}
	if c.cmd == nil {
		if err := c.start(); err != nil {
			return Reply{Outcome: &Outcome{Kind: Errors, Signature: "child", Detail: err.Error()}}
		}
	}
	w := &watch{time: cmp.Or(c.Time, TimeLimit), memory: cmp.Or(c.Memory, MemoryLimit), pid: c.cmd.Process.Pid, proc: c.cmd.Process, done: make(chan struct{})}
	w.begin("start")
	go w.run()
	reply, err := c.talk(k, w)
	close(w.done)
	if err == nil {
		return reply
	}
	stderr := c.stderr
	c.Stop()
	step, why := w.end()
	if c.Peer != "" && step == c.Peer {
		return Reply{Outcome: &Outcome{Kind: Refused, Detail: step + " ended the process: " + cmp.Or(why, crashPlace(stderr.String()))}}
	}
	if why == "" {
		text := stderr.String()
		return Reply{Outcome: &Outcome{Kind: Crashed, Signature: "crash: " + crashPlace(text), Detail: step + ": " + text, Variant: variantOf(step)}}
	}
	text := stderr.String()
	return Reply{Outcome: &Outcome{Kind: why, Signature: why + ": " + running(text), Detail: fmt.Sprintf("in step %q\n%s", step, text), Variant: variantOf(step)}}
}

func (c *Child) talk(k Task, w *watch) (Reply, error) {
	if err := json.NewEncoder(c.tasks).Encode(k); err != nil {
		return Reply{}, err
	}
	for {
		line, err := c.replies.ReadBytes('\n')
		if err != nil {
			return Reply{}, err
		}
		var r Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return Reply{}, err
		}
		if r.Done {
			return r, nil
		}
		w.begin(r.Step)
	}
}

// variantOf is the variant that a step such as "compile -O3" or "run -O3 AVX2 with 2 workers" is about.
func variantOf(step string) string {
	best := ""
	for _, v := range Variants {
		if strings.Contains(step, v.Name) && len(v.Name) > len(best) {
			best = v.Name
		}
	}
	return best
}

// crashPlace is what the process died of and where.
func crashPlace(stderr string) string {
	what := "no message"
	for _, line := range strings.Split(stderr, "\n") {
		for _, mark := range []string{"panic:", "fatal error:", "SIG", "unexpected fault", "LLVM ERROR", "Assertion"} {
			if strings.Contains(line, mark) && what == "no message" {
				what = skeleton(line)
			}
		}
	}
	return what + ": " + place(stderr)
}

// running is where a process was when it was told to show its stacks: our first frame of a goroutine that runs.
func running(stacks string) string {
	for _, g := range strings.Split(stacks, "\n\n") {
		head, rest, _ := strings.Cut(g, "\n")
		if strings.HasPrefix(head, "goroutine") && (strings.Contains(head, "[run") || strings.Contains(head, "[syscall")) {
			if p := place(rest); p != "?" {
				return p
			}
		}
	}
	return "?"
}

// A watch ends a process whose step takes too long or too much memory.
type watch struct {
	time   time.Duration
	memory int
	pid    int
	proc   *os.Process
	done   chan struct{}

	mu    sync.Mutex
	step  string
	since time.Time
	cpu   time.Duration // at the start of the step
	why   string
}

func (w *watch) begin(step string) {
	cpu, _, _ := usage(w.pid)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step, w.since, w.cpu = step, time.Now(), cpu
}

func (w *watch) end() (step, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.step, w.why
}

func (w *watch) run() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		cpu, rss, err := usage(w.pid)
		if err != nil {
			continue
		}
		w.mu.Lock()
		switch {
		case rss > w.memory:
			w.why = Memory
		case cpu-w.cpu > w.time || time.Since(w.since) > wallLimit:
			w.why = Hung
		}
		late := w.why != ""
		w.mu.Unlock()
		if late {
			w.proc.Signal(syscall.SIGQUIT) // which shows the stacks
			select {
			case <-w.done:
			case <-time.After(3 * time.Second):
				w.proc.Kill()
			}
			return
		}
	}
}

// usage is the processor time and the resident memory of a process.
func usage(pid int) (cpu time.Duration, rss int, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return 0, 0, errors.New("short stat")
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	pages, _ := strconv.Atoi(fields[21])
	return time.Duration(user+system) * (time.Second / 100), pages * os.Getpagesize(), nil
}

// A head keeps the first bytes written to it.
type head struct {
	mu    sync.Mutex
	bytes []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := 1<<16 - len(h.bytes); room > 0 {
		h.bytes = append(h.bytes, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.bytes)
}
