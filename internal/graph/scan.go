package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// failAt records the first error, with its line and column, and ends the text.
func (p *parser) failAt(pos int, format string, args ...any) {
	if p.err == nil {
		before := p.text[:pos]
		line := 1 + strings.Count(before, "\n")
		p.err = fmt.Errorf("%d:%d: %w", line, pos-strings.LastIndexByte(before, '\n'), fmt.Errorf(format, args...))
	}
	p.pos = len(p.text)
}

func (p *parser) failf(format string, args ...any) { p.failAt(p.pos, format, args...) }

// space skips white space and comments.
func (p *parser) space() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			p.pos++
		case strings.HasPrefix(p.text[p.pos:], "//"):
			end := strings.IndexByte(p.text[p.pos:], '\n')
			if end < 0 {
				end = len(p.text) - p.pos
			}
			p.pos += end
		default:
			return
		}
	}
}

func (p *parser) is(sign string) bool { return strings.HasPrefix(p.text[p.pos:], sign) }

func (p *parser) accept(sign string) bool {
	if !p.is(sign) {
		return false
	}
	p.pos += len(sign)
	p.space()
	return true
}

func (p *parser) expect(sign string) {
	if !p.accept(sign) {
		p.failf("%s where %q is expected", p.here(), sign)
	}
}

// here describes what stands at the current position.
func (p *parser) here() string {
	rest := p.text[p.pos:]
	if rest == "" {
		return "end of text"
	}
	n := 1
	for n < len(rest) && n < 20 && isWordByte(rest[0]) && isWordByte(rest[n]) {
		n++
	}
	return strconv.Quote(rest[:n])
}

// run takes the bytes that ok accepts.
func (p *parser) run(what string, ok func(byte) bool) string {
	end := p.pos
	for end < len(p.text) && ok(p.text[end]) {
		end++
	}
	s := p.text[p.pos:end]
	if s == "" {
		p.failf("%s where %s is expected", p.here(), what)
		return ""
	}
	p.pos = end
	p.space()
	return s
}

func (p *parser) word() string { return p.run("a name", isWordByte) }

func (p *parser) number() string {
	return p.run("a value", func(c byte) bool { return isWordByte(c) || c == '-' || c == '+' })
}

func (p *parser) isWord(w string) bool {
	rest, ok := strings.CutPrefix(p.text[p.pos:], w)
	return ok && (rest == "" || !isWordByte(rest[0]))
}

func (p *parser) acceptWord(w string) bool { return p.isWord(w) && p.accept(w) }

func (p *parser) quoted() string {
	if !p.is(`"`) {
		p.failf("%s where a quoted string is expected", p.here())
		return ""
	}
	q, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		p.failf("the quoted string does not end")
		return ""
	}
	s, err := strconv.Unquote(q)
	if err != nil {
		p.failf("%s: %w", q, err)
		return ""
	}
	p.pos += len(q)
	p.space()
	return s
}
