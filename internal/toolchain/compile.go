package toolchain

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"lathe/internal/fault"
)

// Compile parses and verifies IR text, gives it the machine's triple and data layout (whatever the text says), runs the
// passes (LLVM's textual pipeline; empty is DefaultPasses) and returns the object file. Same arguments, same bytes.
func (m *Machine) Compile(ir, passes string) (Object, error) { return m.emit(ir, passes, emitObject) }

// Assembly is Compile with assembly text as the result, with LLVM's comments on loops and spills.
func (m *Machine) Assembly(ir, passes string) (string, error) {
	b, err := m.emit(ir, passes, emitAssembly)
	return string(b), err
}

// Optimized returns the IR text after the passes.
func (m *Machine) Optimized(ir, passes string) (string, error) {
	b, err := m.emit(ir, passes, emitIR)
	return string(b), err
}

// CompileAll compiles each text as Compile does, on as many threads as workers says (0: one per processor Go uses). Object i
// belongs to irs[i]. The result, and the error if there is one, do not depend on the number of workers: the error is
// that of the first text that has one.
func (m *Machine) CompileAll(ctx context.Context, irs []string, passes string, workers int) ([]Object, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	objects, errs := make([]Object, len(irs)), make([]error, len(irs))
	var next, failed atomic.Int64
	failed.Store(int64(len(irs)))
	var wg sync.WaitGroup
	for range min(workers, len(irs)) {
		wg.Go(func() {
			// Texts are taken in order, so that those before a failed one have all been taken by then.
			for i := next.Add(1) - 1; i < failed.Load() && ctx.Err() == nil; i = next.Add(1) - 1 {
				if errs[i] = fault.Guard(func() (err error) { objects[i], err = m.Compile(irs[i], passes); return err }); errs[i] != nil {
					lower(&failed, i)
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i := failed.Load(); i < int64(len(irs)) {
		return nil, fmt.Errorf("module %d of %d: %w", i+1, len(irs), errs[i])
	}
	return objects, nil
}

// lower sets v to the smaller of v and x.
func lower(v *atomic.Int64, x int64) {
	for old := v.Load(); x < old; old = v.Load() {
		if v.CompareAndSwap(old, x) {
			return
		}
	}
}

// stageError words what LLVM said at one stage of a compilation.
func stageError(s stage, message, ir string) error {
	message = strings.TrimSpace(message)
	switch s {
	case stageParse:
		return parseError(message, ir)
	case stageVerify:
		return verifyError(message, ir)
	case stagePasses:
		return fmt.Errorf("run LLVM passes: %s", message)
	case stageFatal:
		return fmt.Errorf("LLVM cannot compile this: %s", fatalLine(message))
	}
	return fmt.Errorf("generate code: %s", oneLine(message))
}

var parseMessage = regexp.MustCompile(`^[^:\n]*:(\d+):(\d+): error: ([^\n]*)`)

func parseError(message, ir string) error {
	g := parseMessage.FindStringSubmatch(message)
	if g == nil {
		return fmt.Errorf("parse LLVM IR: %s", oneLine(message))
	}
	n, _ := strconv.Atoi(g[1])
	return fmt.Errorf("parse LLVM IR: line %s, column %s: %s: %s", g[1], g[2], g[3], line(ir, n))
}

// verifyError finds the line of the instruction, which the verifier prints after the complaint in its own spelling.
func verifyError(message, ir string) error {
	complaint, rest, _ := strings.Cut(message, "\n")
	for quoted := range strings.Lines(rest) {
		quoted = strings.TrimSpace(quoted)
		n := 0
		for l := range strings.Lines(ir) {
			n++
			if l = strings.TrimSpace(l); l == quoted && len(l) > 0 {
				return fmt.Errorf("verify LLVM IR: line %d: %s: %s", n, complaint, l)
			}
		}
	}
	return fmt.Errorf("verify LLVM IR: %s", oneLine(message))
}

// line returns line n of a text, counted from 1.
func line(text string, n int) string {
	for l := range strings.Lines(text) {
		if n--; n == 0 {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

var address = regexp.MustCompile(`\b0x[0-9a-f]{6,}:? ?`)

// fatalLine cuts a selection graph, which names its nodes by their addresses, down to the node and the function.
func fatalLine(message string) string {
	lines := strings.Split(address.ReplaceAllString(message, ""), "\n")
	if last := lines[len(lines)-1]; len(lines) > 1 && strings.HasPrefix(last, "In function: ") {
		return lines[0] + "; " + last
	}
	return oneLine(strings.Join(lines, "\n"))
}

// oneLine joins the first lines of a message that can be very long, such as a dump of a selection graph.
func oneLine(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if len(lines) > 4 {
		lines = append(lines[:4], "...")
	}
	return strings.Join(lines, "; ")
}
