package torch

import "fmt"

// maxNesting bounds how deep expressions nest.
const maxNesting = 500

// A parser reads tokens.
type parser struct {
	tokens []token
	depth  int
}

func (p *parser) next() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// is reports whether the next token is a sign or word.
func (p *parser) is(text string) bool {
	t := p.next()
	return (t.kind == signToken || t.kind == nameToken) && t.text == text
}

// accept takes the next token where it is a sign or word.
func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.take()
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("%q where %q has to be", p.next().text, text)
	}
	return nil
}

// name takes a name.
func (p *parser) name() (string, error) {
	if t := p.next(); t.kind != nameToken {
		return "", fmt.Errorf("%q where a name has to be", t.text)
	}
	return p.take().text, nil
}
