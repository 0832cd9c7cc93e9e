package plan

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// lines are what two cores know of a workspace: of each line who has copies, as bits, and how many lines were touched when it was last.
type lines struct {
	copies, when []int
	clock        int
}

const line = 64

// run takes a plan's steps through both cores, and counts the bytes that one writes and the other has touched: where that has copies, and has
// not touched twice an L2 since, and where it alone has the line.
func (l *lines) run(p *Plan, steps []Step, l2 int) (copied, moved int) {
	for _, s := range steps {
		for k, v := range s.Values() {
			at, period := p.Places[v], alone
			if !s.Serial {
				period = v.Type.DType.Bytes(s.Periods[k])
			}
			if at.Kind != Workspace {
				continue
			}
			for b := 0; b < v.Type.Bytes(); b += line {
				n, cores := (at.Offset+b)/line, 3
				if period > 0 {
					cores = 1 << (2 * (b % period) / period)
				}
				if k < len(s.In) {
					l.copies[n] |= cores
				} else {
					switch others := l.copies[n] &^ cores; {
					case l.copies[n] == 3 && (l.clock-l.when[n])*line < 2*l2:
						copied += line
					case l.copies[n] < 3 && others != 0:
						moved += line
					}
					l.copies[n] = cores
				}
				l.when[n] = l.clock
			}
		}
		for _, v := range s.Values() {
			l.clock += v.Type.Bytes() / line
		}
	}
	return copied, moved
}

// TestOwnPlaces: over random chains and divisions, cores rewrite little of what others have, at once and in a later run, and no value
// lies where another lives.
func TestOwnPlaces(t *testing.T) {
	costs := Costs{Reclaim: 0.2, Memory: 0.1, L2: 64 << 10, Shared: 1 << 20}
	var best, own [2]int
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := &list{t: t}
		size := func() int { return 1024 * (1 + r.IntN(16)) }
		x := floats(size())
		v, old := l.relu(x), x
		for range 30 {
			switch r.IntN(4) {
			case 0: // another size
				l.relu(v)
				v, old = floats(size()), v
				l.steps[len(l.steps)-1].Out = []*graph.Value{v}
			case 1:
				if old.Type.Equal(v.Type) {
					v, old = l.add(ops.Add, op.None{}, v, old), v
				}
			default:
				v, old = l.relu(v), v
			}
		}
		y := l.relu(v)
		rows := r.IntN(2) == 0
		for i := range l.steps {
			s := &l.steps[i]
			for _, v := range s.Values() {
				n := v.Type.Shape[0]
				if rows && n%4096 == 0 {
					n = 1024
				}
				s.Periods = append(s.Periods, n)
			}
			switch r.IntN(6) {
			case 0: // all workers read all
				s.Periods[0] = 0
			case 1:
				s.Serial = true
			}
		}
		b := Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}}
		small := l.costing(b, nil, costs.L2, &best)
		if large := l.costing(b, &costs, costs.L2, &own); large > mostGrowth*small {
			t.Errorf("seed %d: a workspace of %d bytes instead of %d", seed, large, small)
		}
	}
	if own[0] > best[0]/10 || own[1] > best[1]*3/4 {
		t.Errorf("cores rewrite %v bytes of others' instead of %v by best fit", own, best)
	}
}

// costing adds what a second run of the steps rewrites, planned by costs, and returns the size of the workspace.
func (l *list) costing(b Boundary, c *Costs, l2 int, sum *[2]int) int {
	l.t.Helper()
	p := New(b, l.steps, &Aliases{}, Pieces{Align: 64, Slack: 64}, c)
	apart(l.t, p, l.steps)
	cores := &lines{copies: make([]int, p.Workspace/line+1), when: make([]int, p.Workspace/line+1)}
	cores.run(p, l.steps, l2)
	copied, moved := cores.run(p, l.steps, l2)
	sum[0] += copied
	sum[1] += moved
	return p.Workspace
}

// TestOwnChain: where workers touch only their own, two places do for a chain.
func TestOwnChain(t *testing.T) {
	l := &list{t: t, costs: &Costs{Reclaim: 0.2, Memory: 0.1, L2: 64 << 10, Shared: 1 << 20}}
	x := floats(4096)
	v := x
	for range 10 {
		v = l.relu(v)
	}
	for i := range l.steps {
		l.steps[i].Periods = []int{1024, 1024}
	}
	_, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{v}})
	if want := 2 * (4*4096 + 64); p.Workspace != want {
		t.Errorf("workspace of %d bytes, want %d", p.Workspace, want)
	}
}

// apart reports values that lie where others live.
func apart(t *testing.T, p *Plan, steps []Step) {
	t.Helper()
	first, last := map[*graph.Value]int{}, map[*graph.Value]int{}
	for i, s := range steps {
		for _, v := range s.Values() {
			if _, seen := first[v]; !seen {
				first[v] = i
			}
			last[v] = i
		}
	}
	for u := range first {
		for v := range first {
			at, other := p.Places[u], p.Places[v]
			if u != v && at.Kind == Workspace && other.Kind == Workspace && first[u] <= last[v] && first[v] <= last[u] &&
				at.Offset < other.Offset+other.Size && other.Offset < at.Offset+at.Size {
				t.Errorf("values of steps %d to %d at %d and of %d to %d at %d", first[u], last[u], at.Offset, first[v], last[v], other.Offset)
			}
		}
	}
}
