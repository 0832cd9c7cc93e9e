// Package prototext reads protobuf's text format (protobuf.dev, Text Format Language Specification) without a schema: Caffe's
// prototxt, TensorFlow's pbtxt. What a field means is its reader's matter; here it is a name with a message or with a scalar's text.
package prototext

import (
	"fmt"
	"strings"
)

// A Message is a list of fields, as they stand in the text. A repeated field stands as often as it has values.
type Message struct {
	Fields []Field
}

// A Field is a name with a value.
type Field struct {
	Name    string
	Line    int      // in the text, from 1
	Message *Message // nil for scalars
	Text    string   // of a scalar: a number or word as it stands, a string without quotes and escapes
	Quoted  bool     // whether it was a string
}

// Get is the last scalar or message of that name, which counts where a field is not repeated, or nil.
func (m *Message) Get(name string) *Field {
	for i := len(m.Fields) - 1; i >= 0; i-- {
		if m.Fields[i].Name == name {
			return &m.Fields[i]
		}
	}
	return nil
}

const (
	maxDepth = 64
	maxSize  = 1 << 28
)

// Parse reads a text. Errors name the line.
func Parse(data []byte) (*Message, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("prototext: a text of %d bytes; up to %d are read", len(data), maxSize)
	}
	p := &parser{text: strings.TrimPrefix(string(data), "\ufeff"), line: 1}
	m := p.message("", 0)
	if p.err != nil {
		return nil, fmt.Errorf("prototext: line %d: %w", p.line, p.err)
	}
	return m, nil
}

// A parser walks a text token by token. The first error stays, and is followed by the end of the text.
type parser struct {
	text string // what is left
	line int
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err, p.text = fmt.Errorf(format, args...), ""
	}
}

// space skips white space and comments.
func (p *parser) space() {
	for p.text != "" {
		switch c := p.text[0]; {
		case c == '\n':
			p.line++
			p.text = p.text[1:]
		case c == ' ' || c >= '\t' && c <= '\r':
			p.text = p.text[1:]
		case c == '#':
			end := strings.IndexByte(p.text, '\n')
			if end < 0 {
				end = len(p.text)
			}
			p.text = p.text[end:]
		default:
			return
		}
	}
}

// take skips space and one of the given characters, and returns it; 0 where there is none of them.
func (p *parser) take(set string) byte {
	p.space()
	if p.text == "" || strings.IndexByte(set, p.text[0]) < 0 {
		return 0
	}
	c := p.text[0]
	p.text = p.text[1:]
	return c
}

// message reads fields up to the closing character; "" is the end of the text.
func (p *parser) message(closing string, depth int) *Message {
	m := &Message{}
	if depth > maxDepth {
		p.fail("messages are nested more than %d deep", maxDepth)
	}
	for p.err == nil {
		p.space()
		switch {
		case p.text == "" && closing != "":
			p.fail("the text ends within a message: cut short")
		case p.text == "" || closing != "" && p.take(closing) != 0:
			return m
		default:
			p.field(m, depth)
			p.take(";,")
		}
	}
	return m
}

func (p *parser) field(m *Message, depth int) {
	name := p.name()
	colon := p.take(":") != 0
	if p.take("[") == 0 {
		p.value(m, name, colon, depth)
		return
	}
	for first := true; p.take("]") == 0 && p.err == nil; first = false {
		if !first && p.take(",") == 0 {
			p.fail("field %q: a list lacks a comma or its end", name)
		}
		p.value(m, name, colon, depth)
	}
}

// name reads a field's name; extensions and messages of any type have theirs in brackets.
func (p *parser) name() string {
	if p.take("[") != 0 {
		name, rest, ok := strings.Cut(p.text, "]")
		if !ok || strings.ContainsAny(name, "\n{}") {
			p.fail("a name in brackets does not end")
			return ""
		}
		p.text = rest
		return name
	}
	name := p.word()
	if name == "" {
		p.fail("%.20q where a field's name should be", p.text)
	}
	return name
}

// word takes letters, digits and what numbers and names have besides.
func (p *parser) word() string {
	p.space()
	n := 0
	for n < len(p.text) {
		c := p.text[n]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '+') {
			break
		}
		n++
	}
	w := p.text[:n]
	p.text = p.text[n:]
	return w
}

// value reads a message or a scalar, in front of which a colon must stand.
func (p *parser) value(m *Message, name string, colon bool, depth int) {
	f := Field{Name: name, Line: p.line}
	switch p.take("{<") {
	case '{':
		f.Message = p.message("}", depth+1)
	case '<':
		f.Message = p.message(">", depth+1)
	default:
		p.scalar(&f)
		if !colon {
			p.fail("field %q: a colon is missing in front of its value", name)
		}
	}
	if p.err == nil {
		m.Fields = append(m.Fields, f)
	}
}

func (p *parser) scalar(f *Field) {
	if p.space(); p.text == "" || p.text[0] != '"' && p.text[0] != '\'' {
		if f.Text = p.word(); f.Text == "" {
			p.fail("field %q: %.20q where a value should be", f.Name, p.text)
		}
		return
	}
	f.Quoted = true
	var parts []string
	for quote := p.take(`"'`); quote != 0 && p.err == nil; quote = p.take(`"'`) { // adjacent strings are one
		parts = append(parts, p.quoted(quote))
	}
	f.Text = strings.Join(parts, "")
}

// quoted reads a string behind its opening quote.
func (p *parser) quoted(quote byte) string {
	for n := 0; n < len(p.text) && p.text[n] != '\n'; n++ {
		switch p.text[n] {
		case '\\':
			n++
		case quote:
			raw := p.text[:n]
			p.text = p.text[n+1:]
			return p.unescaped(raw)
		}
	}
	p.fail("a string does not end on its line")
	return ""
}

// simple are the escapes of one letter and what they stand for, in pairs.
const simple = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\"??"

// unescaped replaces escapes, those of C with octal and hexadecimal ones, and \u and \U of Unicode.
func (p *parser) unescaped(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if s = rest; !found {
			break
		}
		if s == "" {
			p.fail("a string ends in an escape")
			break
		}
		c := s[0]
		if i := strings.IndexByte(simple, c); i >= 0 && i%2 == 0 {
			b.WriteByte(simple[i+1])
			s = s[1:]
			continue
		}
		base, from, least, most := 16, 1, 1, 2
		switch {
		case c >= '0' && c <= '7':
			base, from, most = 8, 0, 3
		case c == 'x' || c == 'X':
		case c == 'u':
			least, most = 4, 4
		case c == 'U':
			least, most = 8, 8
		default:
			p.fail("the escape \\%c in a string", c)
			return ""
		}
		v, n := digits(s[from:], base, most)
		if n < least {
			p.fail("the escape \\%c in a string lacks digits", c)
			return ""
		}
		if s = s[from+n:]; most > 3 {
			b.WriteRune(rune(v))
		} else {
			b.WriteByte(byte(v))
		}
	}
	return b.String()
}

// digits reads up to so many digits of a base, and says how many there were.
func digits(s string, base, most int) (v, n int) {
	for n < len(s) && n < most {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if d < 0 || d >= base || s[n] < '0' {
			break
		}
		v, n = v*base+d, n+1
	}
	return v, n
}
