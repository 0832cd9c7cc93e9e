package c

import (
	"regexp"
	"strconv"
	"strings"
)

// A scope is the set of names that are taken at a place of a function.
type scope struct {
	outer *scope
	taken map[string]bool
}

func newScope(outer *scope) *scope { return &scope{outer, map[string]bool{}} }

// fresh makes an identifier of a name that is neither taken nor reserved, and takes it.
func (s *scope) fresh(name string) string { return s.freshIn(s, name) }

// freshIn takes the identifier in an outer scope.
func (s *scope) freshIn(outer *scope, name string) string {
	base := Identifier(name)
	n := base
	for i := 1; s.has(n); i++ {
		n = strings.TrimRight(base, "_") + "_" + strconv.Itoa(i)
	}
	outer.taken[n] = true
	return n
}

func (s *scope) outermost() *scope {
	for s.outer != nil {
		s = s.outer
	}
	return s
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.taken[name] {
			return true
		}
	}
	return false
}

// Identifier is name with what C does not allow in identifiers replaced by underscores, different from every word of C and
// C++, from the types of stdint.h and from the names of support functions, which end in an element type.
func Identifier(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			r = '_'
		}
		b.WriteRune(r)
	}
	// Identifiers that begin with an underscore, or hold two in C++, belong to the implementation.
	n := strings.TrimLeft(underscores.ReplaceAllString(b.String(), "_"), "_")
	if n == "" || n[0] >= '0' && n[0] <= '9' {
		n = "v" + n
	}
	if reserved[n] || supportName.MatchString(n) {
		n += "_"
	}
	return n
}

var (
	underscores = regexp.MustCompile(`__+`)
	supportName = regexp.MustCompile(`_([fiu](8|16|32|64)|bf16|bits|t)$`)
)

var reserved = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq(`auto break case char const continue default do double else enum extern float for goto if
		inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
		NULL offsetof asm typeof linux unix main
		alignas alignof and and_eq bitand bitor bool catch class compl constexpr const_cast decltype delete dynamic_cast explicit
		export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
		reinterpret_cast static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t
		xor xor_eq`) {
		reserved[w] = true
	}
}
