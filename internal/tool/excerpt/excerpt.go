// Package excerpt makes messages that quote a model fit for a terminal and a log: a file can hold names of a megabyte, shapes
// of a thousand dimensions, thousands of operators that are missing, and control characters.
package excerpt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a message and of a word in it, in bytes. What is cut says how long it was.
const (
	MaxMessage = 4000
	MaxWord    = 200
)

// Message returns s with long words and what is too long altogether cut in the middle, where names stand rather than causes,
// and with control characters other than the ends of lines escaped.
func Message(s string) string {
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, unicode.IsSpace)
		if n < 0 {
			n = len(s)
		}
		b.WriteString(escaped(cut(s[:n], MaxWord)))
		space := len(s) - len(strings.TrimLeftFunc(s[n:], unicode.IsSpace))
		b.WriteString(escaped(s[n:space]))
		s = s[space:]
	}
	return cut(b.String(), MaxMessage)
}

// Line is Message for a text that is one line, such as a cell of a table: ends of lines and tabs are escaped too.
func Line(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Message(s))
}

// cut leaves out the middle of s where it is longer than most.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := most*2/3, len(s)-most/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s...(%d bytes)...%s", s[:head], tail-head, s[tail:])
}

func escaped(s string) string {
	if strings.IndexFunc(s, Hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch _, n := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Hidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Hidden reports whether r does something else than to show itself: control characters, and marks that turn the order of text.
func Hidden(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// Error returns err with its text as Message gives it.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); Message(text) == text {
		return err
	}
	return &cutError{err}
}

type cutError struct{ error }

func (e *cutError) Error() string { return Message(e.error.Error()) }
func (e *cutError) Unwrap() error { return e.error }
