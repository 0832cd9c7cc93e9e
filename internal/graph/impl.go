package graph

import (
	"maps"
	"slices"
	"strconv"

	"lathe/internal/choice"
)

// With is i with more decisions.
func (i Impl) With(p choice.Point) Impl {
	all := choice.Point{}
	maps.Copy(all, i.Point)
	maps.Copy(all, p)
	i.Point = all
	return i
}

// appendImpl writes an implementation as text, nothing for the zero Impl:
//
//	impl "direct" of "Conv_0" {"panel": "4"}
func appendImpl(out []byte, i Impl) []byte {
	if i.Name == "" && len(i.Point) == 0 && i.Of == "" {
		return out
	}
	out = strconv.AppendQuote(append(out, " impl "...), i.Name)
	if i.Of != "" {
		out = strconv.AppendQuote(append(out, " of "...), i.Of)
	}
	if len(i.Point) == 0 {
		return out
	}
	sep := " {"
	for _, name := range slices.Sorted(maps.Keys(i.Point)) {
		out = strconv.AppendQuote(append(out, sep...), name)
		out = strconv.AppendQuote(append(out, ": "...), i.Point[name])
		sep = ", "
	}
	return append(out, '}')
}

// impl reads what appendImpl writes behind the word.
func (p *parser) impl() Impl {
	i := Impl{Name: p.quoted()}
	if p.acceptWord("of") {
		i.Of = p.quoted()
	}
	if !p.accept("{") {
		return i
	}
	i.Point = choice.Point{}
	for more := true; more; more = p.accept(",") {
		at, name := p.pos, p.quoted()
		if _, again := i.Point[name]; again {
			p.failAt(at, "decision %q stands twice", name)
		}
		p.expect(":")
		i.Point[name] = p.quoted()
	}
	p.expect("}")
	return i
}
