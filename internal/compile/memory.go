package compile

import (
	"fmt"
	"slices"
	"sort"

	csource "lathe/internal/codegen/c"
	"lathe/internal/graph"
	"lathe/internal/target"
)

// A plan says where every value lives and between which kernels workers must meet.
type plan struct {
	at        map[*graph.Value]place
	workspace int
	barrier   []bool // before kernel i
}

// A place is a piece of the workspace, or a whole buffer of the caller.
type place struct {
	kind   placeKind
	index  int // of the input, output, constant or symbol
	offset int // in the workspace
	size   int
}

type placeKind uint8

const (
	inWorkspace placeKind = iota
	isInput
	isOutput
	isConst
	isSymbol // in the run context: the extent of an axis
)

// workspaceAlign is the alignment of pieces of the workspace. slack follows every piece: a vector load of a row's last
// elements may not run past it. C source has no vectors, and runs where memory is scarce.
const (
	workspaceAlign = 64
	slack          = 64
)

// pieceAlign is the alignment of pieces of the workspace.
func (c *compiler) pieceAlign() int {
	if c.Target.Arch == target.CSource {
		return csource.Align
	}
	return workspaceAlign
}

// pieceSize is the size of a piece of the workspace that holds n bytes.
func (c *compiler) pieceSize(n int) int {
	if c.Target.Arch != target.CSource {
		n += slack
	}
	align := c.pieceAlign()
	return (n + align - 1) / align * align
}

// planMemory places intermediate values by best fit over their live ranges, then the barriers. Values that lie inside
// others live and die with them; kernels that only moved them there are dropped.
func (c *compiler) planMemory() error {
	p := plan{at: map[*graph.Value]place{}}
	for i, v := range c.graph.Inputs {
		p.at[v] = place{kind: isInput, index: i}
	}
	for i, v := range c.graph.Outputs {
		p.at[v] = place{kind: isOutput, index: i}
		if n := len(c.symbols); i >= n {
			p.at[v] = place{kind: isSymbol, index: i - n}
		}
	}
	alias := c.alias()
	c.all = c.kernels
	c.kernels = slices.DeleteFunc(slices.Clone(c.kernels), func(k *kernel) bool { return k.nop })
	consts := map[*graph.Value]int{}
	last := map[*graph.Value]int{} // by root: the last kernel that touches it
	for i, k := range c.kernels {
		for _, v := range k.params() {
			last[alias.at(v).root] = i
			if _, ok := consts[v]; v.IsConst() && !ok {
				consts[v] = len(c.consts)
				c.consts = append(c.consts, &constant{value: v})
				p.at[v] = place{kind: isConst, index: consts[v]}
			}
		}
	}
	var live pieces
	dying := make([][]place, len(c.kernels)) // by the last kernel that touches them
	for i, k := range c.kernels {
		for _, v := range k.params() {
			if _, placed := p.at[v]; placed {
				continue
			}
			in := alias.at(v)
			if _, placed := p.at[in.root]; !placed {
				size := c.pieceSize(in.root.Type.Bytes())
				at := place{offset: live.fit(size), size: size}
				p.at[in.root] = at
				live.add(at)
				dying[last[in.root]] = append(dying[last[in.root]], at)
			}
			if v != in.root {
				p.at[v] = place{offset: p.at[in.root].offset + in.offset, size: max(v.Type.Bytes(), 1)}
			}
		}
		for _, at := range dying[i] {
			live.remove(at)
		}
	}
	for _, v := range p.at {
		if v.kind == inWorkspace {
			p.workspace = max(p.workspace, v.offset+v.size)
		}
	}
	p.barrier = c.barriers(p.at)
	c.plan = p
	return c.fits()
}

// fits checks that the target can address what a run of the model touches, and tells the user of sizes that are more
// often a slip in a shape than a wish.
func (c *compiler) fits() error {
	total := c.plan.workspace
	for v, p := range c.plan.at {
		if p.kind != inWorkspace {
			total += v.Type.Bytes()
		}
	}
	const gib = 1 << 30
	if c.Target.PointerBits() == 32 && total > 2*gib {
		return fmt.Errorf("the model needs %.1f GiB of memory, and a program on %s has at most 2 (smaller --input-shapes, or a 64-bit target)", float64(total)/gib, c.Target.Arch)
	}
	if total > 16*gib {
		c.res.Notes = append(c.res.Notes, fmt.Sprintf("a run of the model needs %.0f GiB of memory", float64(total)/gib))
	}
	return nil
}

// pieces are the places of the live values in the workspace, in order.
type pieces []place

// fit returns the offset of the smallest gap between them that takes size bytes, or the end.
func (p pieces) fit(size int) int {
	best, bestGap, end := -1, 0, 0
	for _, u := range p {
		if gap := u.offset - end; gap >= size && (best < 0 || gap < bestGap) {
			best, bestGap = end, gap
		}
		end = max(end, u.offset+u.size)
	}
	if best >= 0 {
		return best
	}
	return end
}

func (p pieces) search(at place) (int, bool) {
	return slices.BinarySearchFunc(p, at, func(a, b place) int { return a.offset - b.offset })
}

func (p *pieces) add(at place) {
	i, _ := p.search(at)
	*p = slices.Insert(*p, i, at)
}

func (p *pieces) remove(at place) {
	if i, ok := p.search(at); ok {
		*p = slices.Delete(*p, i, i+1)
	}
}

// barriers marks the kernels that touch what others have written, or write what others read or write, since the last
// barrier: workers split every kernel their own way, so any overlap of planned bytes counts.
func (c *compiler) barriers(at map[*graph.Value]place) []bool {
	marks := make([]bool, len(c.kernels))
	reads, writes := newTouched(), newTouched()
	for i, k := range c.kernels {
		need := false
		for _, v := range k.outs {
			need = need || reads.overlaps(at[v]) || writes.overlaps(at[v])
		}
		for _, v := range k.in {
			need = need || writes.overlaps(at[v])
		}
		if need {
			marks[i] = true
			reads, writes = newTouched(), newTouched()
		}
		for _, v := range k.outs {
			writes.add(at[v])
		}
		for _, v := range k.in {
			reads.add(at[v])
		}
	}
	return marks
}

// touched is a set of bytes: buffers of the caller, and pieces of the workspace, joined where they overlap.
type touched struct {
	buffers map[place]bool // without sizes
	pieces  pieces
}

func newTouched() *touched { return &touched{buffers: map[place]bool{}} }

func (t *touched) overlaps(p place) bool {
	if p.kind != inWorkspace {
		return t.buffers[place{kind: p.kind, index: p.index}]
	}
	i, j := t.around(p)
	return i < j
}

func (t *touched) add(p place) {
	if p.kind != inWorkspace {
		t.buffers[place{kind: p.kind, index: p.index}] = true
		return
	}
	i, j := t.around(p)
	end := p.offset + p.size
	if i < j {
		end = max(end, t.pieces[j-1].offset+t.pieces[j-1].size)
		p.offset = min(p.offset, t.pieces[i].offset)
	}
	p.size = end - p.offset
	t.pieces = slices.Replace(t.pieces, i, j, p)
}

// around finds the pieces [i, j) that overlap p.
func (t *touched) around(p place) (i, j int) {
	i = sort.Search(len(t.pieces), func(k int) bool { return t.pieces[k].offset+t.pieces[k].size > p.offset })
	for j = i; j < len(t.pieces) && t.pieces[j].offset < p.offset+p.size; j++ {
	}
	return i, j
}
