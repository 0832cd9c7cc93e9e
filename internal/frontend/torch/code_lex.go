package torch

import (
	"fmt"
	"strconv"
	"strings"
)

// The kinds of tokens of TorchScript's code, which is a subset of Python.
const (
	endToken = iota
	newlineToken
	indentToken
	dedentToken
	nameToken
	intToken
	floatToken
	textToken
	signToken
)

// A token is a word of the code. text is a name, a sign, or what a literal stands for.
type token struct {
	kind int
	text string
	line int
}

// A lexer cuts code into tokens. Within brackets, lines and indentation do not count.
type lexer struct {
	src    string
	at     int
	line   int
	depth  int   // of brackets
	indent []int // widths of the blocks that are open
	tokens []token
}

// maxBlocks bounds how deep blocks nest.
const maxBlocks = 200

// lex gives the tokens of code; the last one is an endToken.
func lex(src string) ([]token, error) {
	l := &lexer{src: src, line: 1, indent: []int{0}}
	for l.at < len(l.src) {
		if err := l.logicalLine(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
	}
	for range l.indent[1:] {
		l.add(dedentToken, "")
	}
	l.add(endToken, "")
	return l.tokens, nil
}

func (l *lexer) add(kind int, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.line})
}

// logicalLine reads a line with those that its brackets continue it on.
func (l *lexer) logicalLine() error {
	width := 0
	for l.at < len(l.src) && l.src[l.at] == ' ' {
		l.at++
		width++
	}
	if l.at == len(l.src) || strings.IndexByte("\r\n#", l.src[l.at]) >= 0 {
		l.skipLine()
		return nil
	}
	if err := l.block(width); err != nil {
		return err
	}
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == '\n' && l.depth == 0:
			l.add(newlineToken, "")
			l.skipLine()
			return nil
		case c == '\n':
			l.at++
			l.line++
		case c == ' ' || c == '\r' || c == '\t':
			l.at++
		case c == '#':
			for l.at < len(l.src) && l.src[l.at] != '\n' {
				l.at++
			}
		default:
			if err := l.word(); err != nil {
				return err
			}
		}
	}
	if l.depth > 0 {
		return fmt.Errorf("a bracket is not closed")
	}
	l.add(newlineToken, "")
	return nil
}

func (l *lexer) skipLine() {
	for l.at < len(l.src) {
		l.at++
		if l.src[l.at-1] == '\n' {
			l.line++
			return
		}
	}
}

// block opens or closes blocks so that a line of this indentation belongs to the innermost.
func (l *lexer) block(width int) error {
	for width < l.indent[len(l.indent)-1] {
		l.indent = l.indent[:len(l.indent)-1]
		l.add(dedentToken, "")
	}
	if width > l.indent[len(l.indent)-1] {
		if len(l.indent) > maxBlocks {
			return fmt.Errorf("blocks are nested more than %d deep", maxBlocks)
		}
		l.indent = append(l.indent, width)
		l.add(indentToken, "")
	}
	return nil
}

func isNamePart(c byte, first bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || !first && c >= '0' && c <= '9'
}

// word reads a name, a literal or a sign.
func (l *lexer) word() error {
	start := l.at
	switch c := l.src[l.at]; {
	case isNamePart(c, true):
		for l.at < len(l.src) && isNamePart(l.src[l.at], false) {
			l.at++
		}
		l.add(nameToken, l.src[start:l.at])
		return nil
	case c >= '0' && c <= '9' || c == '.' && l.at+1 < len(l.src) && l.src[l.at+1] >= '0' && l.src[l.at+1] <= '9':
		return l.number()
	case c == '"' || c == '\'':
		return l.literal(c)
	}
	for _, sign := range []string{"->", "==", "!=", "<=", ">=", "//", "**", "<<", ">>"} {
		if strings.HasPrefix(l.src[l.at:], sign) {
			l.at += 2
			l.add(signToken, sign)
			return nil
		}
	}
	c := l.src[l.at]
	switch {
	case strings.IndexByte("([{", c) >= 0:
		l.depth++
	case strings.IndexByte(")]}", c) >= 0:
		if l.depth--; l.depth < 0 {
			return fmt.Errorf("a bracket %q that none opens", c)
		}
	case strings.IndexByte(".,:=<>+-*/%|&^~@", c) < 0:
		return fmt.Errorf("the character %q", c)
	}
	l.at++
	l.add(signToken, string(c))
	return nil
}

// number reads digits, with a point or exponent for floats.
func (l *lexer) number() error {
	start, kind := l.at, intToken
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c >= '0' && c <= '9':
		case c == '.' || c == 'e' || c == 'E':
			kind = floatToken
		case (c == '+' || c == '-') && (l.src[l.at-1] == 'e' || l.src[l.at-1] == 'E'):
		case c == 'j':
			return fmt.Errorf("complex numbers are not supported")
		default:
			l.add(kind, l.src[start:l.at])
			return nil
		}
		l.at++
	}
	l.add(kind, l.src[start:l.at])
	return nil
}

// escapes are the characters behind a backslash that stand for others.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'f': 12, 'v': 11, '\\': '\\', '"': '"', '\'': '\''}

// literal reads a text up to its closing quote.
func (l *lexer) literal(quote byte) error {
	var b strings.Builder
	for l.at++; l.at < len(l.src) && l.src[l.at] != quote; l.at++ {
		c := l.src[l.at]
		if c == '\n' {
			break
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if l.at++; l.at == len(l.src) {
			break
		}
		rest := l.src[l.at:]
		switch to, ok := escapes[rest[0]]; {
		case ok:
			b.WriteByte(to)
		case rest[0] == 'x' && len(rest) >= 3:
			n, err := strconv.ParseUint(rest[1:3], 16, 8)
			if err != nil {
				return fmt.Errorf("the escape \\%.3s", rest)
			}
			b.WriteByte(byte(n))
			l.at += 2
		case rest[0] >= '0' && rest[0] <= '7':
			n := 0
			for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(rest[:n], 8, 16)
			b.WriteByte(byte(v))
			l.at += n - 1
		default:
			return fmt.Errorf("the escape \\%c", rest[0])
		}
	}
	if l.at >= len(l.src) || l.src[l.at] != quote {
		return fmt.Errorf("a text is not closed")
	}
	l.at++
	l.add(textToken, b.String())
	return nil
}
