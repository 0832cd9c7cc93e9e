package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// A vocabulary gives features places by their names. It grows with what is seen.
type vocabulary struct {
	places map[string]int
	parts  map[part][]slot
}

// A part is a decision with what was taken and what the rules take: its features do not depend on the rest of the point.
type part struct{ name, taken, rule string }

type slot struct {
	at    int
	value float64
}

func newVocabulary(names []string) *vocabulary {
	v := &vocabulary{map[string]int{}, map[part][]slot{}}
	for _, n := range names {
		v.place(n)
	}
	return v
}

func (v *vocabulary) place(name string) int {
	at, ok := v.places[name]
	if !ok {
		at = len(v.places)
		v.places[name] = at
	}
	return at
}

// names are all in the order of their places.
func (v *vocabulary) names() []string {
	list := make([]string, len(v.places))
	for name, at := range v.places {
		list[at] = name
	}
	return list
}

// features describe a point by what was decided, against what the rules decide, by the kernel's work, and, once it was built, by what that
// told. What is unknown is missing. The time over the rules' is what they are to explain, so that most are ratios.
func (v *vocabulary) features(work []slot, rule, built *records.Built) []float64 {
	slots := slices.Clone(work)
	for _, name := range slices.Sorted(maps.Keys(built.Taken)) { // what is new has its place by the order
		slots = append(slots, v.decision(part{name, built.Taken[name], rule.Taken[name]})...)
	}
	over := func(a, b float64) float64 {
		if a <= 0 || b <= 0 {
			return math.NaN()
		}
		return math.Log2(a / b)
	}
	slots = append(slots, slot{v.place("cost"), over(built.Cost, 1)})
	if built.Code > 0 {
		slots = append(slots, slot{v.place("cycles"), over(built.Cycles, rule.Cycles)}, slot{v.place("code"), over(float64(built.Code), float64(rule.Code))},
			slot{v.place("spills"), built.Spills}, slot{v.place("spills-rule"), built.Spills - rule.Spills})
	}
	x := make([]float64, len(v.places))
	for i := range x {
		x[i] = math.NaN()
	}
	for _, s := range slots {
		if math.IsNaN(x[s.at]) || s.value > x[s.at] {
			x[s.at] = s.value // of several blocks with one decision, the largest
		}
	}
	return x
}

// decision are the features of one: the numbers of its text, their product, and both over those of the rule; words count as features that are there
// or not. A tile of rows and vectors also has its loads for each multiply-add. A block of several, which the prior takes for one with the others, has the
// same by itself.
func (v *vocabulary) decision(p part) []slot {
	if list, ok := v.parts[p]; ok {
		return list
	}
	name, _, ofBlock := strings.Cut(p.name, "(")
	var list []slot
	add := func(feature string, value float64) {
		list = append(list, slot{v.place(name + feature), value})
		if ofBlock {
			list = append(list, slot{v.place(p.name + feature), value})
		}
	}
	taken, rule := numbers(p.taken), numbers(p.rule)
	if len(taken) == 0 {
		add("="+p.taken, 1)
	}
	product := 1.0
	for i, n := range taken {
		add(fmt.Sprint(".", len(taken)-1-i), n) // from behind: a tile may have lines in front
		product *= n
	}
	if len(taken) > 1 {
		rows, vecs := taken[len(taken)-2], taken[len(taken)-1]
		add(".all", product)
		add(".loads", (rows+vecs)/(rows*vecs))
	}
	if len(taken) > 0 && len(rule) > 0 {
		for _, n := range rule {
			product /= n
		}
		add("-rule", math.Log2(product))
	}
	changed := 0.0
	if p.taken != p.rule {
		changed = 1
	}
	add("!", changed)
	v.parts[p] = list
	return list
}

// numbers are the positive ones that a text consists of beside x and spaces; none where there are words.
func numbers(text string) (list []float64) {
	for _, word := range strings.Fields(text) {
		if word == "x" {
			continue
		}
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || !(n > 0) || math.IsInf(n, 0) {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// work are the features of a kernel.
func (v *vocabulary) work(w *records.Work) []slot {
	list := []slot{{v.place("flops"), math.Log2(1 + w.FLOPs)}, {v.place("bytes"), math.Log2(1 + w.Bytes)}}
	if w.Bytes > 0 {
		list = append(list, slot{v.place("intensity"), w.FLOPs / w.Bytes})
	}
	if w.Time > 0 && w.Peak > 0 {
		list = append(list, slot{v.place("peak"), w.Peak / w.Time})
	}
	if w.Lanes > 0 {
		list = append(list, slot{v.place("lanes"), float64(w.Lanes)})
	}
	if len(w.Ops) > 0 {
		list = append(list, slot{v.place("op=" + w.Ops[0]), 1}, slot{v.place("ops"), float64(len(w.Ops))})
	}
	if len(w.Shapes) > 0 {
		shape := extents(w.Shapes[len(w.Shapes)-1])
		elements := 1.0
		for i, n := range shape {
			elements *= float64(n)
			if back := len(shape) - 1 - i; back < 3 {
				list = append(list, slot{v.place(fmt.Sprint("extent.", back)), float64(n)})
			}
		}
		list = append(list, slot{v.place("reduction"), math.Log2(1 + w.FLOPs/elements)})
	}
	return list
}

// extents are those of a type as a package's manifest has it, such as const float32[64,3,7,7]:ABCD32a; none where it is something else.
func extents(typ string) (list []int) {
	_, rest, _ := strings.Cut(typ, "[")
	inner, _, ok := strings.Cut(rest, "]")
	if !ok {
		return nil
	}
	for text := range strings.SplitSeq(inner, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// expected is what building a point is thought to tell: it is known of the nearest that was built, with the decisions that differ as they are
// given, and their costs.
func (s *search) expected(p choice.Point) *records.Built {
	from, least := s.root, math.MaxInt
	for _, b := range append(s.centres(), s.root) {
		differ := 0
		for name, text := range p {
			if b.Point[name] != text {
				differ++
			}
		}
		for name := range b.Point {
			if _, ok := p[name]; !ok {
				differ++
			}
		}
		if differ < least {
			from, least = b, differ
		}
	}
	built := &records.Built{Taken: union(from.Taken, p), Cost: 1}
	for _, d := range from.Asked {
		text, ok := p[d.Name]
		if !ok {
			text = d.Values[d.Default].Text
			built.Taken[d.Name] = text
		}
		for _, v := range d.Values {
			if base := d.Values[d.Default].Cost; v.Text == text && v.Cost > 0 && base > 0 {
				built.Cost *= v.Cost / base
			}
		}
	}
	return built
}
