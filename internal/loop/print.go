package loop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/expr"
)

// String prints f as Parse reads it. Variables and buffers whose name an enclosing scope has already, or that are no
// names of the text form, get a numbered suffix. Nested Seqs print flat; a name without a binding prints with a question
// mark, which does not parse.
func (f *Func) String() string {
	p := newPrinter()
	p.strict = true
	name := f.Name
	if !expr.IsName(name) || slices.Contains(keywords, name) {
		name = strconv.Quote(name)
	}
	p.write("func %s(", name)
	for i, b := range f.Params {
		if i > 0 {
			p.write(", ")
		}
		p.write("%s", p.bindBuffer(b))
		if b.Scope != Global {
			p.write(" %s", b.Scope)
		}
	}
	p.write(")")
	p.write(" ")
	p.block(f.Body)
	p.write("\n")
	return p.out.String()
}

// StmtString prints s, with the names of what it does not bind as they are.
func StmtString(s Stmt) string {
	p := newPrinter()
	p.stmts(list(s))
	return strings.TrimSuffix(p.out.String(), "\n")
}

// keywords cannot be names of variables and buffers in text.
var keywords = []string{
	"func", "for", "parallel", "vector", "unroll", "jam", "matrix", "in", "if", "else", "let", "alloc", "block", "prefetch", "where", "init",
	"reduce", "align", "atmost", "global", "worker", "reg", "tiles", "nan", "inf",
}

type printer struct {
	out     strings.Builder
	indent  int
	strict  bool // mark names without a binding
	vars    map[*expr.Var]string
	buffers map[*Buffer]string
	taken   map[string]bool
}

func newPrinter() *printer {
	return &printer{vars: map[*expr.Var]string{}, buffers: map[*Buffer]string{}, taken: map[string]bool{}}
}

func (p *printer) write(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *printer) line(format string, args ...any) {
	p.out.WriteString(strings.Repeat("  ", p.indent))
	p.write(format, args...)
}

// name takes the first free one of want, want_2, want_3 ...
func (p *printer) name(want string) string {
	want = strings.Map(func(r rune) rune {
		if r < 128 && expr.IsName("x"+string(r)) || r == '.' {
			return r
		}
		return '_'
	}, want)
	if !expr.IsName(want) || slices.Contains(keywords, want) {
		want = "v_" + strings.ReplaceAll(want, ".", "_")
	}
	got := want
	for n := 2; p.taken[got]; n++ {
		got = fmt.Sprintf("%s_%d", want, n)
	}
	p.taken[got] = true
	return got
}

func (p *printer) bindVar(v *expr.Var) string {
	n := p.name(v.Name)
	p.vars[v] = n
	return n
}

func (p *printer) unbindVar(v *expr.Var) {
	delete(p.taken, p.vars[v])
	delete(p.vars, v)
}

// bindBuffer names b and returns its declaration without scope.
func (p *printer) bindBuffer(b *Buffer) string {
	n := p.name(b.Name)
	p.buffers[b] = n
	s := fmt.Sprintf("%s: %s[%s]", n, b.DType, ints(b.Shape))
	if b.Align != 0 {
		s += fmt.Sprintf(" align %d", b.Align)
	}
	if b.Most != 0 {
		s += fmt.Sprintf(" atmost %d", b.Most)
	}
	return s
}

func (p *printer) unbindBuffer(b *Buffer) {
	delete(p.taken, p.buffers[b])
	delete(p.buffers, b)
}

func ints(v []int) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = strconv.Itoa(x)
	}
	return strings.Join(s, ",")
}

// block prints a statement in braces, without a newline after them.
func (p *printer) block(s Stmt) {
	p.write("{\n")
	p.indent++
	p.stmts(list(s))
	p.indent--
	p.line("}")
}

// list is the statements of s in order.
func list(s Stmt) []Stmt {
	seq, ok := s.(*Seq)
	if !ok {
		if s == nil {
			return nil
		}
		return []Stmt{s}
	}
	var all []Stmt
	for _, t := range seq.List {
		all = append(all, list(t)...)
	}
	return all
}

func (p *printer) stmts(all []Stmt) {
	for i, s := range all {
		p.stmt(s, i == len(all)-1)
	}
}

// stmt prints s. The body of a let or alloc that is the last of its list needs no braces.
func (p *printer) stmt(s Stmt, last bool) {
	body := func(s Stmt) {
		if last {
			p.write("\n")
			p.stmts(list(s))
			return
		}
		p.write(" ")
		p.block(s)
		p.write("\n")
	}
	switch s := s.(type) {
	case *Seq:
		p.stmts(list(s))
	case *For:
		bounds := p.bounds(s)
		p.line("%s %s in %s ", s.Kind, p.bindVar(s.Var), bounds)
		p.block(s.Body)
		p.write("\n")
		p.unbindVar(s.Var)
	case *If:
		p.line("if %s ", p.expr(s.Cond))
		p.block(s.Then)
		if s.Else != nil {
			p.write(" else ")
			p.block(s.Else)
		}
		p.write("\n")
	case *Let:
		value := p.expr(s.Value)
		p.line("let %s: %s = %s", p.bindVar(s.Var), s.Var.Type, value)
		body(s.Body)
		p.unbindVar(s.Var)
	case *Alloc:
		p.line("alloc %s %s", p.bindBuffer(s.Buffer), s.Buffer.Scope)
		body(s.Body)
		p.unbindBuffer(s.Buffer)
	case *Store:
		p.line("%s\n", p.store(s))
	case *Prefetch:
		how := ""
		if s.Near {
			how = " near"
		}
		if s.Write {
			how += " write"
		}
		p.line("prefetch %s at %s lines %d%s\n", p.bufferName(s.From), p.expr(s.At), s.Lines, how)
	case *Block:
		p.computation(s)
	}
}

// bounds is lo..end where both are constants or lo is 0, and lo..+extent elsewhere.
func (p *printer) bounds(f *For) string {
	lo, isInt := expr.IntOf(f.Min)
	n, known := expr.IntOf(f.Extent)
	switch end := lo + n; {
	case isInt && lo == 0:
		return "0.." + p.expr(f.Extent)
	case isInt && known && (end > lo) == (n > 0):
		return fmt.Sprintf("%d..%d", lo, end)
	}
	return p.expr(f.Min) + "..+" + p.expr(f.Extent)
}

func (p *printer) store(s *Store) string {
	index := make([]string, len(s.Index))
	for i, x := range s.Index {
		index[i] = p.expr(x)
	}
	return fmt.Sprintf("%s[%s] = %s", p.bufferName(s.To), strings.Join(index, ", "), p.expr(s.Value))
}

func (p *printer) computation(b *Block) {
	name := b.Name
	if !expr.IsName(name) || slices.Contains(keywords, name) {
		name = strconv.Quote(name)
	}
	iters := make([]string, len(b.Iters))
	for i, it := range b.Iters {
		iters[i] = p.expr(it.Binding)
	}
	for i, it := range b.Iters {
		reduce := ""
		if it.Reduce {
			reduce = "reduce "
		}
		iters[i] = fmt.Sprintf("%s: %s%d = %s", p.bindVar(it.Var), reduce, it.Extent, iters[i])
	}
	p.line("block %s(%s) ", name, strings.Join(iters, ", "))
	if b.Where != nil {
		p.write("where %s ", p.expr(b.Where))
	}
	p.write("{\n")
	p.indent++
	if b.Init != nil {
		p.line("init %s\n", p.store(b.Init))
	}
	if b.Body != nil {
		p.line("%s\n", p.store(b.Body))
	}
	p.indent--
	p.line("}\n")
	for _, it := range b.Iters {
		p.unbindVar(it.Var)
	}
}

func (p *printer) bufferName(b *Buffer) string {
	if n, ok := p.buffers[b]; ok {
		return n
	}
	if p.strict {
		return b.Name + "?"
	}
	return b.Name
}

// A renamed stands for a buffer under the name it prints with.
type renamed struct {
	*Buffer
	name string
}

func (r renamed) Label() string { return r.name }

// expr prints e. Lets inside it get names like other variables.
func (p *printer) expr(e expr.Expr) string {
	var lets []*expr.Var
	e = expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Let:
			if _, ok := p.vars[x.Var]; !ok {
				p.bindVar(x.Var)
				lets = append(lets, x.Var)
			}
		case *expr.Load:
			if b, ok := x.From.(*Buffer); ok {
				if n := p.bufferName(b); n != b.Name {
					return &expr.Load{From: renamed{b, n}, Index: x.Index}
				}
			}
		}
		return x
	})
	var b strings.Builder
	expr.Print(&b, e, func(v *expr.Var) string {
		if n, ok := p.vars[v]; ok {
			return n
		}
		if p.strict {
			return v.Name + "?"
		}
		return v.Name
	})
	for _, v := range lets {
		p.unbindVar(v)
	}
	return b.String()
}
