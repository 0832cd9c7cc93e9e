package plan

import (
	"slices"

	"lathe/internal/graph"
)

// A Plan says where every value lies and between which steps workers must meet.
type Plan struct {
	Places    map[*graph.Value]Place
	Constants []*graph.Value // that steps read, in the order of first use; of equal ones the first
	Workspace int            // bytes
	Barriers  []bool         // before step i
	Joined    []bool         // step i is done by the worker that did the one before
	Loops     map[int]*Loop  // by step
	Branches  map[int]*Branches

	constants *constants
}

// A Place is a piece of the workspace, or a whole buffer of the caller.
type Place struct {
	Kind   PlaceKind
	Index  int // of the input, output, constant or symbol
	Offset int // in the workspace
	Size   int
}

// PlaceKind says whose memory a place is.
type PlaceKind uint8

// Kinds of places.
const (
	Workspace PlaceKind = iota
	Input
	Output
	Constant
	Symbol // in the run context: the extent of an axis
)

// Pieces says how a target's workspace is divided: pieces begin at multiples of Align, and Slack follows each, for a vector
// load of a row's last elements may not run past it. Large pieces begin at multiples of Apart, if that is not 0.
type Pieces struct{ Align, Slack, Apart int }

// HalfPage is the Apart of processors that look whether a load reads what was just stored by the address within a page of 4 KB first: where
// it seems so, the load waits for that store (Zen 4: 33 cycles for each line of a layer norm, whose result lay a line and whole pages
// behind its operand) or begins anew (Intel: Optimization Reference Manual, 4-KByte aliasing). A loop that reads one piece and writes
// another at the same pace never seems to read soon behind a store where their starts are no or half a page apart.
const HalfPage = 2048

// large is the size of pieces to which Apart adds a sixteenth at most.
func (p Pieces) large(size int) bool { return p.Apart > 0 && size >= 16*p.Apart }

// start is where a piece of so many bytes begins in a gap.
func (p Pieces) start(gap, size int) int {
	if p.large(size) {
		gap = (gap + p.Apart - 1) / p.Apart * p.Apart
	}
	return gap
}

// before is the last place up to an offset where a piece of so many bytes may begin.
func (p Pieces) before(at, size int) int {
	if p.large(size) {
		return at / p.Apart * p.Apart
	}
	return at / p.Align * p.Align
}

// size of a piece that holds n bytes.
func (p Pieces) size(n int) int { return (n + p.Slack + p.Align - 1) / p.Align * p.Align }

// New places the values of steps, then the barriers. Values that lie inside others live and die with them. The workspace is small, by best fit over
// live ranges, unless costs, which may be nil, say that more of it pays for workers.
func New(b Boundary, steps []Step, a *Aliases, rule Pieces, costs *Costs) *Plan {
	constants := constantsOf(steps)
	small := newPlan(b, steps, a, rule, constants, nil)
	if costs == nil || small.Workspace > costs.Shared || !slices.ContainsFunc(steps, func(s Step) bool { return !s.Serial }) {
		return small
	}
	most := min(mostGrowth*small.Workspace, costs.Shared)
	if own := newPlan(b, steps, a, rule, constants, newHistory(*costs, steps, a, rule, most)); own.Workspace <= most {
		return own
	}
	return small
}

func newPlan(b Boundary, steps []Step, a *Aliases, rule Pieces, constants *constants, past *history) *Plan {
	p := &Plan{Places: b.places(), Constants: constants.list, Loops: map[int]*Loop{}, Branches: map[int]*Branches{}, constants: constants}
	for v, i := range constants.index {
		p.Places[v] = Place{Kind: Constant, Index: i}
	}
	last := map[*graph.Value]int{} // by root: the last step that touches it
	for i, s := range steps {
		for _, v := range s.Values() {
			last[a.at(v).root] = i
		}
	}
	var live pieces
	dying := make([][]*graph.Value, len(steps)) // by the last step that touches them
	for i, s := range steps {
		for _, v := range s.Values() {
			if _, placed := p.Places[v]; placed {
				continue
			}
			in := a.at(v)
			if _, placed := p.Places[in.root]; !placed {
				size := rule.size(in.root.Type.Bytes())
				at := Place{Size: size}
				if past == nil {
					at.Offset = live.fit(size, rule)
				} else {
					at.Offset = past.place(in.root, size, live)
				}
				p.Places[in.root] = at
				live.add(at)
				dying[last[in.root]] = append(dying[last[in.root]], in.root)
			}
			if v != in.root {
				p.Places[v] = Place{Offset: p.Places[in.root].Offset + in.offset, Size: max(v.Type.Bytes(), 1)}
			}
		}
		switch len(s.Bodies) {
		case 1:
			p.Loops[i] = p.loop(s, &live, rule)
		case 2:
			p.Branches[i] = p.branches(s, &live, rule)
		}
		if past != nil {
			past.passed(s)
		}
		for _, v := range dying[i] {
			at := p.Places[v]
			live.remove(at)
			if past != nil {
				past.leave(v, at)
			}
		}
	}
	for _, at := range p.Places {
		if at.Kind == Workspace {
			p.Workspace = max(p.Workspace, at.Offset+at.Size)
		}
	}
	for _, l := range p.Loops {
		p.Workspace = max(p.Workspace, l.Offset+l.size)
	}
	for _, b := range p.Branches {
		for _, w := range b.Ways {
			p.Workspace = max(p.Workspace, w.Offset+w.size)
		}
	}
	p.Joined = join(steps)
	p.Barriers = barriers(steps, p.Joined, p.Places)
	return p
}

// Bytes is the memory that a run touches: the workspace and what the caller and the package hold.
func (p *Plan) Bytes() int {
	total := p.Workspace
	for v, at := range p.Places {
		if at.Kind != Workspace && at.Kind != Constant {
			total += v.Type.Bytes()
		}
	}
	for _, v := range p.Constants {
		total += v.Type.Bytes()
	}
	return total
}

// Meetings is how often workers meet in a run.
func (p *Plan) Meetings() int {
	n := 0
	for _, b := range p.Barriers {
		if b {
			n++
		}
	}
	for _, l := range p.Loops {
		if !l.Serial && l.Parts < 2 { // workers on parts meet nobody
			n += l.few*(l.Body.Meetings()+1) - 1
		}
	}
	for _, b := range p.Branches {
		if !b.Serial {
			n += 1 + max(b.Ways[0].Body.Meetings(), b.Ways[1].Body.Meetings())
		}
	}
	return n
}

// pieces are the places of the live values in the workspace, in order.
type pieces []Place

// fit returns where size bytes begin in the smallest gap between them that takes these, or behind all.
func (p pieces) fit(size int, rule Pieces) int {
	gap := slices.MinFunc(p.gaps(size, rule, 0), func(a, b span) int { return (a.to - a.from) - (b.to - b.from) })
	return rule.start(gap.from, size)
}

// gaps are where so many bytes fit: between pieces, and behind all if that ends by most, or is the only one.
func (p pieces) gaps(size int, rule Pieces, most int) (list []span) {
	end := 0
	for _, u := range p {
		if rule.start(end, size)+size <= u.Offset {
			list = append(list, span{from: end, to: u.Offset})
		}
		end = u.Offset + u.Size
	}
	if need := rule.start(end, size) + size; need <= most || len(list) == 0 {
		list = append(list, span{from: end, to: max(most, need)})
	}
	return list
}

// end of the last piece.
func (p pieces) end() int {
	if len(p) == 0 {
		return 0
	}
	return p[len(p)-1].Offset + p[len(p)-1].Size
}

func (p pieces) search(at Place) (int, bool) {
	return slices.BinarySearchFunc(p, at, func(a, b Place) int { return a.Offset - b.Offset })
}

func (p *pieces) add(at Place) {
	i, _ := p.search(at)
	*p = slices.Insert(*p, i, at)
}

func (p *pieces) remove(at Place) {
	if i, ok := p.search(at); ok {
		*p = slices.Delete(*p, i, i+1)
	}
}
