package llvm

import "strings"

// jammed emits copies of straight code, an instruction of each in turn. A long chain of operations waits for itself, and a core looks no
// further ahead than a few dozen instructions: what it can do meanwhile has to lie there. Copies that turn out to branch follow each
// other.
func (e *emitter) jammed(n int, emit func(i int)) {
	if !e.jamming {
		e.cut()
		e.jamming = true
		defer func() { e.jamming = false }()
	}
	parts, labels, begin := len(e.written), e.labels, e.out.Len()
	var ends []int
	for i := range n {
		emit(i)
		ends = append(ends, e.out.Len()-begin)
	}
	if len(e.written) != parts || e.labels != labels {
		return
	}
	text := e.out.String()
	e.out.Reset()
	e.out.WriteString(text[:begin])
	jam(&e.out, text[begin:], ends)
}

// jam writes the lines of texts, which end where ends says, in turns: of each the next whose operands are there, for a copy uses what those
// before it have computed.
func jam(to *strings.Builder, text string, ends []int) {
	copies := make([][]string, len(ends))
	pending := map[string]bool{} // results that are not written yet
	begin := 0
	for i, end := range ends {
		copies[i] = strings.SplitAfter(text[begin:end], "\n")
		copies[i] = copies[i][:len(copies[i])-1]
		for _, l := range copies[i] {
			if r := result(l); r != "" {
				pending[r] = true
			}
		}
		begin = end
	}
	for left := true; left; {
		left = false
		for i, c := range copies {
			if len(c) == 0 {
				continue
			}
			left = true
			r := result(c[0])
			if needs(strings.TrimSpace(c[0])[len(r):], pending) {
				continue
			}
			to.WriteString(c[0])
			delete(pending, r)
			copies[i] = c[1:]
		}
	}
}

// result is the name that a line of text defines; "" for a store.
func result(line string) string {
	name, _, ok := strings.Cut(strings.TrimSpace(line), " = ")
	if !ok || name[0] != '%' {
		return ""
	}
	return name
}

// needs reports whether a line names a result that is pending.
func needs(line string, pending map[string]bool) bool {
	for {
		at := strings.IndexByte(line, '%')
		if at < 0 {
			return false
		}
		line = line[at:]
		end := 1
		for end < len(line) && (line[end] >= '0' && line[end] <= '9' || line[end] >= 'a' && line[end] <= 'z') {
			end++
		}
		if pending[line[:end]] {
			return true
		}
		line = line[end:]
	}
}
