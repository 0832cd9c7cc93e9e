package toolchain

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Compile parses and verifies IR text, gives it the machine's triple and data layout (whatever the text says), runs the
// passes (LLVM's textual pipeline; empty is DefaultPasses) and returns the object file. Same arguments, same bytes.
func (m *Machine) Compile(ir, passes string) (Object, error) {
	o, _, err := m.emit(ir, passes, emitObject)
	return o, err
}

// Assembly is Compile with assembly text as the result, with LLVM's comments on loops and spills.
func (m *Machine) Assembly(ir, passes string) (string, error) {
	b, _, err := m.emit(ir, passes, emitAssembly)
	return string(b), err
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
