package records

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
)

// A Book finds records by what they are of.
type Book struct {
	kernels map[string][]Record // by kernel and target, in the order of files
	anchors map[string][]Record
}

// NewBook files records.
func NewBook(list []Record) *Book {
	b := &Book{map[string][]Record{}, map[string][]Record{}}
	for _, r := range list {
		k := r.Kernel + "\x00" + r.Target
		b.kernels[k] = append(b.kernels[k], r)
		if r.Anchor != "" {
			a := r.Anchor + "\x00" + r.Target
			b.anchors[a] = append(b.anchors[a], r)
		}
	}
	return b
}

// Of are all records of a kernel on a target.
func (b *Book) Of(k Key) []Record { return b.kernels[k.Kernel+"\x00"+k.Target] }

// Near are those of other kernels with the same anchor: starting points of a tuning, never to be applied.
func (b *Book) Near(k Key) []Record {
	if k.Anchor == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.anchors[k.Anchor+"\x00"+k.Target]), func(r Record) bool { return r.Kernel == k.Kernel })
}

// Best is the record by which a kernel is to be compiled in a network: one that a verdict accepted on a machine of this class. The verdict of
// this network counts more than those of others, and takes back what another accepted; between equals the number of workers and then
// the greater sure gain decides.
func (b *Book) Best(k Key, network string) (Record, bool) {
	points := map[place]*verdict{}
	list := b.Of(k)
	for i := range list {
		r := &list[i]
		if r.Stage != Network || r.Class != k.Class {
			continue
		}
		at := place{identity(r.Point), r.Network}
		if points[at] == nil {
			points[at] = &verdict{}
		}
		points[at].add(r)
	}
	var best *Record
	for _, at := range slices.SortedFunc(maps.Keys(points), place.compare) {
		r := points[at].stands()
		if own := points[place{at.point, network}]; r == nil || own != nil && own.stands() == nil {
			continue
		}
		if best == nil || better(r, best, k, network) {
			best = r
		}
	}
	if best == nil {
		return Record{}, false
	}
	return *best, true
}

// A place is a point in a network.
type place struct{ point, network string }

func (a place) compare(b place) int {
	return cmp.Or(strings.Compare(a.point, b.point), strings.Compare(a.network, b.network))
}

// A verdict is the last word on a point in a network: the later of the two, and no where they are equally old.
type verdict struct{ accepted, refused *Record }

func (v *verdict) add(r *Record) {
	last := &v.refused
	if r.Accepted {
		last = &v.accepted
	}
	if *last == nil || !r.Time.Before((*last).Time) {
		*last = r
	}
}

// stands is the record that accepts; nil where it was taken back.
func (v *verdict) stands() *Record {
	if v.accepted != nil && v.refused != nil && !v.accepted.Time.After(v.refused.Time) {
		return nil
	}
	return v.accepted
}

// better orders accepted records.
func better(a, b *Record, k Key, network string) bool {
	if same := a.Network == network; same != (b.Network == network) {
		return same
	}
	if same := a.Workers == k.Workers; same != (b.Workers == k.Workers) {
		return same
	}
	return a.High < b.High
}

// identity is a text that equal points share.
func identity(p choice.Point) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		b.WriteString(name + "\x00" + p[name] + "\x00")
	}
	return b.String()
}

// Merge puts records of several files together: each once, in the order of time.
func Merge(list []Record) ([]Record, error) {
	seen := map[string]bool{}
	var out []Record
	lines := map[int][]byte{}
	for _, r := range list {
		line, err := Line(r)
		if err != nil {
			return nil, err
		}
		if !seen[string(line)] {
			seen[string(line)] = true
			lines[len(out)] = line
			out = append(out, r)
		}
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(out[a].Time.Compare(out[b].Time), cmp.Compare(out[a].By.Trial, out[b].By.Trial), bytes.Compare(lines[a], lines[b]))
	})
	sorted := make([]Record, len(out))
	for i, at := range order {
		sorted[i] = out[at]
	}
	return sorted, nil
}

// Prune keeps the records that compiling looks up, for each network that they are of, in the order of Merge.
func Prune(list []Record) ([]Record, error) {
	book := NewBook(list)
	var kept []Record
	for _, r := range list {
		if r.Stage == Network && r.Accepted {
			if best, ok := book.Best(r.Key, r.Network); ok && best.Network == r.Network {
				kept = append(kept, best)
			}
		}
	}
	return Merge(kept)
}
