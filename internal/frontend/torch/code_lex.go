package torch

import (
	"strconv"
	"strings"
	"text/scanner"
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

// maxBlocks bounds how deep blocks nest.
const maxBlocks = 200

// A lexer cuts code into tokens. The words are those of Go but for signs and comments; lines and indentation count where no bracket is open.
type lexer struct {
	scanner.Scanner
	depth  int   // of brackets
	indent []int // widths of the blocks that are open
	tokens []token
}

// lex gives the tokens of code; the last one is an endToken. It fails as fail does, with the line at the beginning.
func lex(src string) []token {
	l := &lexer{indent: []int{0}}
	l.Init(strings.NewReader(src))
	l.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings
	l.Error = func(_ *scanner.Scanner, message string) {
		if message != "invalid char escape" { // which Python's need not be
			l.fail("%s", message)
		}
	}
	for kind := l.Scan(); kind != scanner.EOF; kind = l.Scan() {
		if kind == '#' {
			for c := l.Peek(); c != '\n' && c != scanner.EOF; c = l.Peek() {
				l.Next()
			}
			continue
		}
		l.lines()
		l.word(kind)
	}
	if l.depth > 0 {
		l.fail("a bracket is not closed")
	}
	if len(l.tokens) > 0 {
		l.add(newlineToken, "")
	}
	for range l.indent[1:] {
		l.add(dedentToken, "")
	}
	l.add(endToken, "")
	return l.tokens
}

func (l *lexer) fail(format string, args ...any) { failAt(l.Line, format, args...) }

// failAt fails at a line of the code.
func failAt(line int, format string, args ...any) {
	fail("line %d: "+format, append([]any{line}, args...)...)
}

func (l *lexer) add(kind int, text string) { l.tokens = append(l.tokens, token{kind, text, l.Line}) }

// lines ends a line and opens or closes blocks where a word is the first of its line.
func (l *lexer) lines() {
	first := len(l.tokens) == 0
	if l.depth > 0 || !first && l.tokens[len(l.tokens)-1].line == l.Line {
		return
	}
	if !first {
		l.add(newlineToken, "")
	}
	width := l.Column - 1
	for width < l.indent[len(l.indent)-1] {
		l.indent = l.indent[:len(l.indent)-1]
		l.add(dedentToken, "")
	}
	if width > l.indent[len(l.indent)-1] {
		if len(l.indent) > maxBlocks {
			l.fail("blocks are nested more than %d deep", maxBlocks)
		}
		l.indent = append(l.indent, width)
		l.add(indentToken, "")
	}
}

// word adds a name, a literal or a sign.
func (l *lexer) word(kind rune) {
	switch kind {
	case scanner.Ident:
		l.add(nameToken, l.TokenText())
	case scanner.Int:
		l.add(intToken, l.TokenText())
	case scanner.Float:
		l.add(floatToken, l.TokenText())
	case scanner.String:
		l.add(textToken, l.unquoted())
	default:
		sign := string(kind)
		for _, long := range []string{"->", "==", "!=", "<=", ">=", "//", "**", "<<", ">>"} {
			if rune(long[0]) == kind && rune(long[1]) == l.Peek() {
				line := l.Line
				l.Next() // which forgets the line
				l.Line, sign = line, long
				break
			}
		}
		switch {
		case strings.Contains("([{", sign):
			l.depth++
		case strings.Contains(")]}", sign):
			if l.depth--; l.depth < 0 {
				l.fail("a bracket %q that none opens", sign)
			}
		case len(sign) == 1 && !strings.Contains(".,:=<>+-*/%|&^~@", sign) || kind > '~':
			l.fail("the character %q", kind)
		}
		l.add(signToken, sign)
	}
}

// unquoted is what a literal stands for. Python's has either quote behind a backslash, Go's only its own.
func (l *lexer) unquoted() string {
	var b []byte
	for rest := l.TokenText()[1 : len(l.TokenText())-1]; rest != ""; {
		quote := byte('"')
		if strings.HasPrefix(rest, `\'`) {
			quote = '\''
		}
		c, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			l.fail("the escape %.4q", rest)
		}
		if rest = tail; multibyte {
			b = append(b, string(c)...)
		} else {
			b = append(b, byte(c))
		}
	}
	return string(b)
}
