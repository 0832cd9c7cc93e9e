package fuzz

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// An Outcome is what became of a case.
type Outcome struct {
	Kind      string // Right, Refused, Large or one of the findings
	Signature string // of a finding: equal for equal causes, as far as one can tell
	Detail    string
	Variant   string // the variant that shows it
}

// Kinds of outcomes. All but the first three are findings.
const (
	Right   = "right"
	Refused = "refused" // with an error that says what is not supported, or what is wrong with the file
	Large   = "large"   // compiled, but too large for the reference

	Wrong     = "wrong"     // another result than the reference
	Unequal   = "unequal"   // results or packages that depend on the number of workers
	Errors    = "error"     // a model that imports does not compile
	Differs   = "differs"   // supported by one variant and refused by another
	Panics    = "panic"     // in import or compilation
	Crashed   = "crash"     // the process died
	Hung      = "hang"      // too long
	Memory    = "memory"    // too much memory
	RoundTrip = "roundtrip" // writing and importing gives another graph
)

// Finding reports whether the outcome is one.
func (o *Outcome) Finding() bool { return o.Kind != Right && o.Kind != Refused && o.Kind != Large }

// guard runs f and makes errors and panics outcomes.
func guard(what string, f func() error) (o *Outcome) {
	defer func() {
		if r := recover(); r != nil {
			stack := string(debug.Stack())
			o = &Outcome{Kind: Panics, Signature: what + ": " + place(stack) + ": " + skeleton(fmt.Sprint(r)), Detail: fmt.Sprintf("%v\n%s", r, stack)}
		}
	}()
	if err := f(); err != nil {
		return &Outcome{Kind: Errors, Signature: what + ": " + skeleton(err.Error()), Detail: err.Error()}
	}
	return nil
}

var frame = regexp.MustCompile(`(?m)^\s+\S*?/(internal/[\w/]+/\w+\.go:\d+)`)

// place is the function at fault in a stack: the first of ours below the panic.
func place(stack string) string {
	if i := strings.LastIndex(stack, "panic("); i >= 0 {
		stack = stack[i:]
	}
	for _, m := range frame.FindAllStringSubmatch(stack, -1) {
		if !strings.Contains(m[1], "test/fuzz/") {
			return m[1]
		}
	}
	return "?"
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]|\([^)]*\)`)
	numbers = regexp.MustCompile(`0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?`)
)

// skeleton is a message without names and numbers.
func skeleton(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = numbers.ReplaceAllString(quoted.ReplaceAllString(s, "_"), "#")
	return s[:min(len(s), 200)]
}
