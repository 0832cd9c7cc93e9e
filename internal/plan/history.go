package plan

import (
	"slices"
	"sort"

	"lathe/internal/graph"
)

// Costs are what a byte of the workspace costs beside its work, in cycles, and when.
type Costs struct {
	Reclaim float64 // to write it, where other cores have copies
	Memory  float64 // to read it from memory
	L2      int     // bytes of each core's, which hold the copies
	Shared  int     // bytes of the cache behind it that a core may have, which no workspace outgrows for workers' sake
}

// A history says which workers touched the bytes of a workspace last, and when: it gives values the places that workers find in their own
// caches, and that they need not take back from others.
type history struct {
	costs Costs
	rule  Pieces
	most  int // bytes of the workspace, where they do
	parts map[*graph.Value][]part

	spans []span // in order, apart from each other
	clock int    // bytes that steps have touched so far
}

// A part is a piece of a value's memory, whose bytes one step writes.
type part struct {
	offset, size int
	period       int  // by which workers write it
	copied       bool // by workers who read what others wrote
}

// A span is bytes that were touched together.
type span struct {
	from, to int
	by       touch
	when     int
}

// A touch says which of any number of workers touches a byte: those share each period from start on evenly. Of period 0 several have touched
// each byte, or nothing is known.
type touch struct{ start, period int }

// alone is the period by which one worker touches all.
const alone = 1 << 40

func newHistory(c Costs, steps []Step, a *Aliases, rule Pieces, most int) *history {
	h := &history{costs: c, rule: rule, most: most, parts: map[*graph.Value][]part{}}
	for _, s := range steps {
		for k, v := range s.Out {
			at := a.at(v)
			h.parts[at.root] = append(h.parts[at.root], part{offset: at.offset, size: v.Type.Bytes(), period: s.period(len(s.In)+k, v)})
		}
	}
	for _, s := range steps {
		for k, v := range s.In {
			at := a.at(v)
			reader, list := touch{at.offset, s.period(k, v)}, h.parts[at.root]
			for i, p := range list {
				from, to := max(p.offset, at.offset), min(p.offset+p.size, at.offset+v.Type.Bytes())
				if from < to && foreign(reader, p.written(0), from, to) > foreignShare {
					list[i].copied = true
				}
			}
		}
	}
	return h
}

// period is the one by which workers touch the step's parameter k, which is v, in bytes.
func (s Step) period(k int, v *graph.Value) int {
	switch {
	case s.Serial:
		return alone
	case k < len(s.Periods):
		return v.Type.DType.Bytes(max(0, s.Periods[k]))
	}
	return 0
}

// written is who writes the part where its value begins at an offset, and left who touches it last.
func (p part) written(at int) touch { return touch{at + p.offset, p.period} }

func (p part) left(at int) touch {
	if p.copied {
		p.period = 0
	}
	return p.written(at)
}

// foreign is the share of the bytes between from and to that other workers touch by a than by b, where there are two to four.
func foreign(a, b touch, from, to int) float64 {
	const samples = 64
	switch {
	case a.period == 0 || b.period == 0:
		return 1
	case a.period == b.period && (a.start-b.start)%a.period == 0:
		return 0
	}
	others, n := 0, 0
	for i := range samples {
		at := from + (to-from)*(2*i+1)/(2*samples)
		for workers := 2; workers <= 4; workers++ {
			if n++; a.worker(at, workers) != b.worker(at, workers) {
				others++
			}
		}
	}
	return float64(others) / float64(n)
}

func (t touch) worker(at, workers int) int { return workers * modulo(at-t.start, t.period) / t.period }

func modulo(a, n int) int { return (a%n + n) % n }

// place is where a value begins that costs least, between those that live.
func (h *history) place(v *graph.Value, size int, live pieces) int {
	best, least := 0, -1.0
	for _, gap := range live.gaps(size, h.rule, h.most) {
		for _, at := range h.starts(gap, size, h.parts[v]) {
			if cost := h.cost(at, size, h.parts[v], live); least < 0 || cost < least {
				best, least = at, cost
			}
		}
	}
	return best
}

// starts are where a value of these parts may begin in a gap: at its ends, where another began, behind all, and where a part's workers touch what
// they touched before, whose periods have the same middle then.
func (h *history) starts(gap span, size int, parts []part) []int {
	list := []int{h.rule.start(gap.from, size)}
	offer := func(at int) {
		if at = h.rule.before(at, size); at >= gap.from && at+size <= gap.to {
			list = append(list, at)
		}
	}
	offer(gap.to - size)
	offer(h.end())
	for i := h.behind(gap.from); i < len(h.spans) && h.spans[i].from < gap.to; i++ {
		s := h.spans[i]
		offer(s.from)
		for _, p := range parts {
			if p.period == 0 || s.by.period == 0 {
				continue
			}
			at := s.by.start + s.by.period/2 - p.period/2 - p.offset
			if p.period == s.by.period {
				at = gap.from + modulo(at-gap.from, p.period)
				offer(at + max(0, gap.to-size-at)/p.period*p.period)
			}
			offer(at)
			break
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// cost is what a value of these parts costs at an offset.
func (h *history) cost(at, size int, parts []part, live pieces) float64 {
	fresh := at + size - max(h.end(), live.end())
	total := h.costs.Memory * newShare * float64(min(size, max(0, fresh)))
	for i := h.behind(at); i < len(h.spans) && h.spans[i].from < at+size; i++ {
		s := h.spans[i]
		lasts := float64(h.clock-s.when) < copiesLast*float64(h.costs.L2)
		for _, p := range parts {
			from, to := max(s.from, at+p.offset), min(s.to, at+p.offset+p.size)
			switch bytes := float64(to - from); {
			case bytes <= 0:
			case s.by.period > 0:
				total += h.costs.Reclaim * movedShare * bytes * foreign(s.by, p.written(at), from, to)
			case lasts:
				total += h.costs.Reclaim * bytes
			}
		}
	}
	return total
}

// passed notes what a step touches.
func (h *history) passed(s Step) {
	for _, v := range s.Values() {
		h.clock += v.Type.Bytes()
	}
}

// leave notes that a value is no longer needed where it is.
func (h *history) leave(v *graph.Value, at Place) {
	for _, p := range h.parts[v] {
		by := p.left(at.Offset)
		h.touch(span{from: by.start, to: by.start + p.size, by: by, when: h.clock})
	}
}

// touch puts a span in the place of what it covers of others.
func (h *history) touch(s span) {
	i := h.behind(s.from)
	j, covered := i, []span{s}
	for ; j < len(h.spans) && h.spans[j].from < s.to; j++ {
		before, after := h.spans[j], h.spans[j]
		before.to, after.from = min(before.to, s.from), max(after.from, s.to)
		if before.from < before.to {
			covered = slices.Insert(covered, 0, before)
		}
		if after.from < after.to {
			covered = append(covered, after)
		}
	}
	h.spans = slices.Replace(h.spans, i, j, covered...)
}

// behind is the first span that ends behind an offset.
func (h *history) behind(at int) int {
	return sort.Search(len(h.spans), func(i int) bool { return h.spans[i].to > at })
}

func (h *history) end() int {
	if len(h.spans) == 0 {
		return 0
	}
	return h.spans[len(h.spans)-1].to
}
