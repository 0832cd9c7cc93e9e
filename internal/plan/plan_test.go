package plan

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A list is steps by hand, each a group of one operator.
type list struct {
	t     *testing.T
	steps []Step
	rule  Pieces // none: as for vectors
	costs *Costs
}

func (l *list) add(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	l.t.Helper()
	sub := &graph.Graph{}
	var inside, outer []*graph.Value
	for _, v := range in {
		if v.IsConst() {
			inside = append(inside, v)
			continue
		}
		inside = append(inside, sub.Input("", v.Type))
		outer = append(outer, v)
	}
	n, err := sub.Apply(d, attrs, inside...)
	if err != nil {
		l.t.Fatal(err)
	}
	sub.Outputs = n.Out
	g := graph.NewGroup(sub, outer)
	l.steps = append(l.steps, Step{Node: g, In: in, Out: g.Out})
	return g.Out[0]
}

func (l *list) relu(v *graph.Value) *graph.Value { return l.add(ops.Relu, op.None{}, v) }

// run is the steps that have something to do, planned.
func (l *list) run(b Boundary) (*Aliases, *Plan) {
	rule := l.rule
	if rule.Align == 0 {
		rule = Pieces{Align: 64, Slack: 64}
	}
	a := FindAliases(b, l.steps, rule)
	var left []Step
	for i, s := range l.steps {
		if !a.Nothing[i] {
			left = append(left, s)
		}
	}
	return a, New(b, left, a, rule, l.costs)
}

func floats(shape ...int) *graph.Value { return &graph.Value{Type: types.Of(types.F32, shape...)} }

// TestMemory: in a chain two pieces are enough, however long it is, and the caller's buffers are none of them.
func TestMemory(t *testing.T) {
	l := &list{t: t}
	x, w := floats(256), graph.NewConst("w", tensor.New(types.F32, 256))
	v := l.add(ops.Add, op.None{}, x, w)
	for range 9 {
		v = l.relu(v)
	}
	y := l.add(ops.Multiply, op.None{}, v, w)
	_, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}})
	if want := 2 * (1024 + 64); p.Workspace != want {
		t.Errorf("workspace of %d bytes, want %d", p.Workspace, want)
	}
	if !slices.Equal(p.Constants, []*graph.Value{w}) {
		t.Errorf("constants %v", p.Constants)
	}
	for v, want := range map[*graph.Value]PlaceKind{x: Input, y: Output, w: Constant, v: Workspace} {
		if p.Places[v].Kind != want {
			t.Errorf("place %+v, want kind %d", p.Places[v], want)
		}
	}
	if want := p.Workspace + 3*1024; p.Bytes() != want {
		t.Errorf("a run touches %d bytes, want %d", p.Bytes(), want)
	}
}

// TestApart: no load of an operand, soon behind a store of the result, has its address within the page. It costs a sixteenth at most, and small pieces nothing.
func TestApart(t *testing.T) {
	for _, elements := range []int{256, 16 << 10, 24 << 10, 16<<10 + 48, 100_000} {
		l := &list{t: t, rule: Pieces{Align: 64, Slack: 64, Apart: HalfPage}}
		x := floats(elements)
		v := l.relu(x)
		var old []*graph.Value // that live to the end
		for range 6 {
			v = l.add(ops.Add, op.None{}, v, l.relu(v))
			old = append(old, v)
			v = l.relu(l.relu(v))
		}
		for _, o := range old {
			v = l.add(ops.Add, op.None{}, v, o)
		}
		_, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{v}})
		for _, s := range l.steps {
			for _, u := range s.In {
				from, to := p.Places[u], p.Places[s.Out[0]]
				if ahead := (to.Offset - from.Offset) & 4095; from.Kind == Workspace && to.Kind == Workspace && 4*elements > 32<<10 && ahead > 0 && ahead < 2048 {
					t.Errorf("%d elements: a result at %d, its operand at %d", elements, to.Offset, from.Offset)
				}
			}
		}
		l.rule.Apart = 0
		_, plain := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{v}})
		if p.Workspace > plain.Workspace*17/16 || 4*elements < 32<<10 && p.Workspace != plain.Workspace {
			t.Errorf("%d elements: a workspace of %d bytes instead of %d", elements, p.Workspace, plain.Workspace)
		}
	}
}

// TestBarriers: steps that share nothing do not meet, what reads or overwrites does.
func TestBarriers(t *testing.T) {
	l := &list{t: t}
	x := floats(64)
	a, b := l.relu(x), l.relu(x)
	c := l.relu(a)
	d := l.relu(b) // overwrites nothing, reads what is written before the last barrier
	y := l.add(ops.Add, op.None{}, l.add(ops.Add, op.None{}, c, d), a)
	_, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}})
	if want := []bool{false, false, true, false, true, true}; !slices.Equal(p.Barriers, want) {
		t.Errorf("barriers %v, want %v", p.Barriers, want)
	}
	// In a chain of three values the third lies where the first did.
	l = &list{t: t}
	v := l.relu(l.relu(l.relu(x)))
	_, p = l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{v}})
	if want := []bool{false, true, true}; !slices.Equal(p.Barriers, want) {
		t.Errorf("barriers of a chain %v, want %v", p.Barriers, want)
	}
}

// TestJoined: serial steps in a row are one worker's, which needs no barrier between them; the one before them is there when
// any of them needs it.
func TestJoined(t *testing.T) {
	l := &list{t: t}
	x := floats(64)
	a := l.relu(x)
	b := l.relu(x) // serial from here on
	c := l.relu(l.relu(a))
	y := l.add(ops.Add, op.None{}, b, c) // and divided again
	for i := 1; i < 4; i++ {
		l.steps[i].Serial = true
	}
	_, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}})
	if want := []bool{false, true, false, false, true}; !slices.Equal(p.Barriers, want) {
		t.Errorf("barriers %v, want %v", p.Barriers, want)
	}
	if want := []bool{false, false, true, true, false}; !slices.Equal(p.Joined, want) {
		t.Errorf("joined %v, want %v", p.Joined, want)
	}
	steps := make([]Step, 3*mostJoined)
	for i := range steps {
		steps[i].Serial = true
	}
	for i, joined := range join(steps) {
		if joined != (i%mostJoined != 0) {
			t.Errorf("step %d of serial ones is joined: %v", i, joined)
		}
	}
}

// TestAliases: operands of a concatenation are written where its result lies, and a reshape is its operand; not where the
// memory is the caller's, pieces would not be aligned, or bytes do not lie in order.
func TestAliases(t *testing.T) {
	join := func(l *list, axis int, in ...*graph.Value) *graph.Value {
		return l.add(ops.Concatenate, ops.ConcatenateAttrs{Axis: axis}, in...)
	}
	for _, c := range []struct {
		name    string
		make    func(l *list, x *graph.Value) *graph.Value
		nothing []bool
	}{
		{"rows", func(l *list, x *graph.Value) *graph.Value { return l.relu(join(l, 0, l.relu(x), l.relu(x))) }, []bool{false, false, true, false}},
		{"columns", func(l *list, x *graph.Value) *graph.Value { return l.relu(join(l, 1, l.relu(x), l.relu(x))) }, []bool{false, false, false, false}},
		{"one twice", func(l *list, x *graph.Value) *graph.Value { a := l.relu(x); return l.relu(join(l, 0, a, a)) }, []bool{false, false, false}},
		{"an output", func(l *list, x *graph.Value) *graph.Value { return join(l, 0, l.relu(x), l.relu(x)) }, []bool{false, false, false}},
		{"of an input", func(l *list, x *graph.Value) *graph.Value { return l.relu(join(l, 0, x, l.relu(x))) }, []bool{false, false, false}},
		{"nested", func(l *list, x *graph.Value) *graph.Value {
			a, b := l.relu(x), l.relu(x)
			inner := join(l, 0, a, b)
			return l.relu(l.add(ops.Add, op.None{}, l.relu(inner), join(l, 0, a, b)))
		}, []bool{false, false, true, false, true, false, false}},
	} {
		l := &list{t: t}
		x := floats(16, 16)
		y := c.make(l, x)
		a, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}})
		if !slices.Equal(a.Nothing, c.nothing) {
			t.Errorf("%s: %v, want %v", c.name, a.Nothing, c.nothing)
		}
		for i, s := range l.steps {
			end := p.Places[s.Out[0]].Offset
			for _, v := range s.In {
				if at := p.Places[v]; a.Nothing[i] && at.Offset != end {
					t.Errorf("%s: an operand lies at %d of %d", c.name, at.Offset, end)
				}
				end += v.Type.Bytes()
			}
		}
	}
	l := &list{t: t}
	x := floats(5, 3) // 60 bytes: the second piece would not be aligned
	y := l.relu(join(l, 0, l.relu(x), l.relu(x)))
	if a, _ := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}}); slices.Contains(a.Nothing, true) {
		t.Error("pieces that are not aligned lie in a result")
	}
	l = &list{t: t}
	r := l.add(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{15}}, l.relu(x))
	y = l.relu(r)
	a, p := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}})
	if !a.Nothing[1] || p.Places[r].Offset != p.Places[l.steps[0].Out[0]].Offset {
		t.Errorf("a reshape: %v", a.Nothing)
	}
}

// TestDivide: each step is told by which period its operands were written, through reshapes, and errors end the walk.
func TestDivide(t *testing.T) {
	l := &list{t: t}
	x := floats(16, 16)
	a := l.relu(x)
	r := l.add(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{256}}, a)
	b := l.relu(r)
	c := l.relu(l.add(ops.Concatenate, ops.ConcatenateAttrs{Axis: 0}, b, l.relu(r)))
	aliases, _ := l.run(Boundary{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{c}})
	var got []string
	divide := func(i int, operands []impl.Operand) (int, error) {
		for _, o := range operands {
			got = append(got, fmt.Sprint(i, o.Home))
		}
		return 100 + i, nil
	}
	if err := Divide(l.steps, aliases, divide); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0 -1", "2 100", "3 100", "5 -1"}; !slices.Equal(got, want) {
		t.Errorf("operands %q, want %q", got, want)
	}
	broken := errors.New("broken")
	calls := 0
	err := Divide(l.steps, aliases, func(int, []impl.Operand) (int, error) { calls++; return 0, broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
