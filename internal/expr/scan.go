package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// A TokenKind classifies tokens.
type TokenKind uint8

const (
	EOF TokenKind = iota
	Ident
	Number
	Quoted // Text is the string's value
	Punct
)

// A Token is a word of the text form of expressions and loop IR.
type Token struct {
	Kind TokenKind
	Text string
	pos  int
}

// A Scanner splits text into tokens, one ahead. Comments run from // to the end of the line. After the first error every
// token is EOF, so that callers need to ask for errors at their end only.
type Scanner struct {
	Tok  Token // the current token
	text string
	pos  int
	err  error
}

// NewScanner returns a scanner at the first token of text.
func NewScanner(text string) Scanner {
	s := Scanner{text: text}
	s.Next()
	return s
}

// Err is the first error, which begins with its line and column.
func (s *Scanner) Err() error { return s.err }

// Failf records an error at the current token and ends the text.
func (s *Scanner) Failf(format string, args ...any) {
	if s.err == nil {
		before := s.text[:s.Tok.pos]
		line := 1 + strings.Count(before, "\n")
		column := len(before) - strings.LastIndexByte(before, '\n')
		s.err = fmt.Errorf("%d:%d: %w", line, column, fmt.Errorf(format, args...))
	}
	s.Tok = Token{EOF, "", s.Tok.pos}
	s.pos = len(s.text)
}

// FailAt is Failf at an earlier token.
func (s *Scanner) FailAt(t Token, format string, args ...any) {
	s.Tok = t
	s.Failf(format, args...)
}

// Is reports whether the current token is this punctuation or word.
func (s *Scanner) Is(text string) bool {
	return s.Tok.Text == text && (s.Tok.Kind == Punct || s.Tok.Kind == Ident)
}

// Accept consumes the current token when it is this one.
func (s *Scanner) Accept(text string) bool {
	if !s.Is(text) {
		return false
	}
	s.Next()
	return true
}

// Expect consumes the current token, which must be this one.
func (s *Scanner) Expect(text string) {
	if !s.Accept(text) {
		s.Failf("%s where %q is expected", s.Tok, text)
	}
}

// Take consumes the current token, which must be of this kind, and returns its text.
func (s *Scanner) Take(k TokenKind) string {
	if s.Tok.Kind != k {
		s.Failf("%s where %s is expected", s.Tok, [...]string{"the end", "a name", "a number", "a quoted string", "a sign"}[k])
	}
	t := s.Tok.Text
	s.Next()
	return t
}

// Int consumes an integer without sign or type.
func (s *Scanner) Int() int {
	t := s.Tok
	s.Take(Number)
	v, err := strconv.Atoi(t.Text)
	if err != nil && s.err == nil {
		s.FailAt(t, "%s is no integer in range", t)
	}
	return v
}

func (t Token) String() string {
	if t.Kind == EOF {
		return "end of text"
	}
	return strconv.Quote(t.Text)
}

// Next moves to the next token.
func (s *Scanner) Next() {
	s.skipSpace()
	start := s.pos
	s.Tok = Token{EOF, "", start}
	if s.err != nil || start == len(s.text) {
		return
	}
	switch c := s.text[start]; {
	case isLetter(c):
		s.Tok.Kind = Ident
		for s.pos < len(s.text) && (isLetter(s.text[s.pos]) || isDigit(s.text[s.pos]) || s.innerDot()) {
			s.pos++
		}
	case isDigit(c):
		s.Tok.Kind = Number
		s.number()
	case c == '"':
		s.quoted()
		return
	default:
		s.Tok.Kind = Punct
		s.pos++
		if s.pos < len(s.text) {
			switch s.text[start : s.pos+1] {
			case "..", "<<", ">>", "<=", ">=", "==", "!=":
				s.pos++
			}
		}
		if !strings.Contains("()[]{}<>=+-*/%&|^.:;,", s.text[start:start+1]) && s.text[start:s.pos] != "!=" {
			s.Failf("unexpected character %q", s.text[start])
			return
		}
	}
	s.Tok.Text = s.text[start:s.pos]
}

func (s *Scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.pos++
		case strings.HasPrefix(s.text[s.pos:], "//"):
			end := strings.IndexByte(s.text[s.pos:], '\n')
			if end < 0 {
				end = len(s.text) - s.pos
			}
			s.pos += end
		default:
			return
		}
	}
}

// innerDot reports whether a dot at the current position belongs to a name: x.o is one, the dots of x..8 are not.
func (s *Scanner) innerDot() bool {
	t := s.text[s.pos:]
	return t[0] == '.' && len(t) > 1 && (isLetter(t[1]) || isDigit(t[1]))
}

func (s *Scanner) number() {
	digits := func() {
		for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
			s.pos++
		}
	}
	digits()
	if s.pos < len(s.text) && s.text[s.pos] == '.' && !strings.HasPrefix(s.text[s.pos:], "..") {
		s.pos++
		digits()
	}
	if s.pos < len(s.text) && s.text[s.pos] == 'e' {
		s.pos++
		if s.pos < len(s.text) && (s.text[s.pos] == '+' || s.text[s.pos] == '-') {
			s.pos++
		}
		digits()
	}
}

func (s *Scanner) quoted() {
	q, err := strconv.QuotedPrefix(s.text[s.pos:])
	if err != nil {
		s.Failf("a quoted string does not end")
		return
	}
	s.pos += len(q)
	v, err := strconv.Unquote(q)
	if err != nil {
		s.Failf("%s: %w", q, err)
		return
	}
	s.Tok.Kind, s.Tok.Text = Quoted, v
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// IsName reports whether s can stand as a name in text: letters, digits, underscores and inner dots. The words nan and
// inf are constants.
func IsName(s string) bool {
	sc := NewScanner(s)
	return sc.Tok.Kind == Ident && sc.Tok.Text == s && s != "nan" && s != "inf"
}
