package target

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/cpu"
	"lathe/internal/tool/spelling"
)

// Shared lists facts of what cores share: how much one gets of it depends on the others, and is measured otherwise every time.
func Shared() []string { return []string{"l3-rate", "memory-rate", "reclaim-rate", "streams"} }

// beyondNoise is the ratio of two numbers that cannot be of one machine. Each measurement of a machine that others use gives other ones, of which nothing
// follows for most decisions.
const beyondNoise = 1.5

// otherwise reports that two numbers are of different machines.
func otherwise(a, b int) bool {
	if a <= 0 || b <= 0 {
		return a != b
	}
	return apart(a, b) >= math.Log(beyondNoise)*(1-1e-9)
}

// Correct is t with what a machine tells and what was measured of one of its cores, where t has other numbers beyond noise, or t itself where it has none. What
// was measured of what cores share corrects nothing.
func (t *Target) Correct(m *cpu.Machine, measured *Measured) *Target {
	u := *t
	told := t.cachesOf(m)
	if told != (cpu.Caches{}) && (otherwise(t.L1, told.L1<<10) || otherwise(t.L2, told.L2<<10) || otherwise(t.L3, told.L3<<10)) {
		u.setCaches(told.L1, told.L2, told.L3)
	}
	for _, f := range facts {
		n := *f.field(&Core{Clock: m.Clock, Datapath: m.Datapath})
		if measured != nil {
			n = cmp.Or(measured.Facts[f.name], n)
		}
		if own := f.field(&u.Core); n > 0 && !slices.Contains(Shared(), f.name) && otherwise(*own, n) {
			*own = n
		}
	}
	if u.factsBeside(t) == "" {
		return t
	}
	return &u
}

// factsBeside are the options by which o gets the facts of t.
func (t *Target) factsBeside(o *Target) string {
	var words []string
	if t.L1 != o.L1 || t.L2 != o.L2 || t.L3 != o.L3 {
		words = append(words, t.cachesWord())
	}
	for _, f := range facts {
		if n := *f.field(&t.Core); n != *f.field(&o.Core) {
			words = append(words, fmt.Sprintf("-%s=%d", f.name, n))
		}
	}
	return strings.Join(words, " ")
}

// Differing are the options by which o gets the facts of t, in canonical form, "" where it has them, and the same for people: "caches 32,512,16384 for 8,128,4096".
func (t *Target) Differing(o *Target) (options, text string) {
	options = t.factsBeside(o)
	var list []string
	back := strings.Fields(o.factsBeside(t))
	for i, word := range strings.Fields(options) {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		_, before, _ := strings.Cut(back[i], "=")
		list = append(list, fmt.Sprintf("%s %s for %s", name, value, before))
	}
	return options, strings.Join(list, ", ")
}

// cachesWord is the option of the caches.
func (t *Target) cachesWord() string {
	return fmt.Sprintf("-caches=%d,%d,%d", t.L1>>10, t.L2>>10, t.L3>>10)
}

// With is t with other facts, written as options of a target: "-caches=32,512,16384 -fma-units=2". Other options are refused.
func (t *Target) With(options string) (*Target, error) {
	u := *t
	s := &Spec{Kind: t.Kind}
	known := append(Facts(), "caches")
	for _, word := range strings.Fields(options) {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word, "-"), "=")
		if !strings.HasPrefix(word, "-") || !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is no fact of a machine%s", word, spelling.Hint(name, known))
		}
		if err := s.add(name, value, hasValue); err != nil {
			return nil, err
		}
	}
	if len(s.Options) == 0 {
		return nil, errors.New("no facts of a machine are named")
	}
	return &u, u.optionFacts(s)
}
