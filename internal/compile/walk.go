package compile

import (
	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
	"lathe/internal/graph"
	"lathe/internal/plan"
)

// A walk is the steps of a network with those of its regions, each of which can be called by itself: before a loop stand the steps of its
// first iteration and those of its second, before branches those of both, and the region itself behind them makes its results what they are
// in a run. The second iteration finds state and caches as later ones do.
type walk []*walked

// A walked step is one of them.
type walked struct {
	*step
	mem   *plan.Plan // of the body that it is in
	frame *frame     // nil: it is in no body
	index int        // in that body
	top   int        // the step of the network that it is or is in
	calls int        // of the kernel in a run, where that is known; 0: it is there to lead to the second iteration
	cycle int        // steps from the same one of the first iteration on; 0: there is none
}

// A frame is where an iteration finds what its body calls inputs, outputs and workspace: as places of the network. nil is the network's own.
type frame struct {
	inputs, outputs []llvm.Place
	workspace       int
}

func (f *frame) base() int {
	if f == nil {
		return 0
	}
	return f.workspace
}

// place is where a place of the body lies.
func (f *frame) place(at plan.Place) llvm.Place {
	kinds := [...]llvm.PlaceKind{
		plan.Workspace: llvm.Workspace, plan.Input: llvm.Input, plan.Output: llvm.Output, plan.Constant: llvm.Param, plan.Symbol: llvm.Symbol,
	}
	switch {
	case at.Kind == plan.Workspace:
		return llvm.Place{Kind: llvm.Workspace, Index: f.base() + at.Offset}
	case at.Kind == plan.Input && f != nil:
		return f.inputs[at.Index]
	case at.Kind == plan.Output && f != nil:
		return f.outputs[at.Index]
	}
	return llvm.Place{Kind: kinds[at.Kind], Index: at.Index}
}

// iteration is the frame of one of a loop in f.
func (f *frame) iteration(l *plan.Loop, i int) *frame {
	bound := func(list []plan.Bound) (places []llvm.Place) {
		for _, b := range list {
			from := b.First
			switch {
			case i%2 == 1:
				from = b.Odd
			case i > 0:
				from = b.Even
			}
			at, by := f.place(from), b.Offset+i*b.Step
			if at.Kind == llvm.Workspace {
				at.Index += by
			} else {
				at.Offset += by
			}
			places = append(places, at)
		}
		return places
	}
	return &frame{bound(l.Inputs), bound(l.Outputs), f.base() + l.Offset}
}

// walkOf lists the steps of p, which mem has placed.
func walkOf(p *program, mem *plan.Plan) walk {
	var w walk
	w.add(p, mem, nil, 1)
	top := 0
	for _, s := range w { // a region stands behind what is in it
		if s.top = top; s.frame == nil {
			top++
		}
	}
	return w
}

func (w *walk) add(p *program, mem *plan.Plan, f *frame, calls int) {
	for i, s := range p.steps {
		switch b := mem.Branches[i]; {
		case s.bodies == nil:
			*w = append(*w, &walked{step: s, mem: mem, frame: f, index: i, calls: calls})
			continue
		case s.Node.Op == graph.External: // what runs there may be none of our code
		case b != nil:
			for k, body := range s.bodies {
				w.add(body, b.Ways[k].Body, f.iteration(b.Ways[k], 0), calls)
			}
		default:
			w.loop(s, mem.Loops[i], f, calls)
		}
		*w = append(*w, &walked{step: s, mem: mem, frame: f, index: i})
	}
}

// loop adds two iterations, or the only one.
func (w *walk) loop(s *step, l *plan.Loop, f *frame, calls int) {
	first, second := len(*w), 0
	if l.Trips != 1 {
		w.add(s.bodies[0], l.Body, f.iteration(l, 0), 0)
		second = 1
	}
	from := len(*w)
	w.add(s.bodies[0], l.Body, f.iteration(l, second), calls*s.Node.Attrs.(graph.LoopAttrs).Few())
	for _, s := range (*w)[from:] {
		if s.cycle == 0 { // it is in no loop inside of this one
			s.cycle = from - first
		}
	}
}

// place is where a value of the step lies in a run context.
func (s *walked) place(v *graph.Value) bundle.Place {
	return placeOf(v, s.frame.place(s.mem.Places[v]))
}

// placeOf is a place that code names, with what lies there.
func placeOf(v *graph.Value, at llvm.Place) bundle.Place {
	kinds := [...]bundle.PlaceKind{
		llvm.Workspace: bundle.InWorkspace, llvm.Input: bundle.InInput, llvm.Output: bundle.InOutput, llvm.Param: bundle.InParam, llvm.Symbol: bundle.InSymbols,
	}
	p := bundle.Place{Kind: kinds[at.Kind], Index: at.Index, Offset: at.Offset, Bytes: v.Type.Bytes(), DType: v.Type.DType.String()}
	if at.Kind == llvm.Workspace {
		p.Index, p.Offset = 0, at.Index
	}
	return p
}

// contextPlace is where a value of the network itself lies in a run context.
func contextPlace(v *graph.Value, mem *plan.Plan) bundle.Place {
	return placeOf(v, (*frame)(nil).place(mem.Places[v]))
}

// places are where the step reads and writes.
func (s *walked) places(values []*graph.Value) []bundle.Place {
	list := make([]bundle.Place, len(values))
	for i, v := range values {
		list[i] = s.place(v)
	}
	return list
}

// calls are the steps of a walk, between any two of which workers meet: they run one by one.
func (w walk) calls(j *job) (list []llvm.Step) {
	for _, s := range w {
		call := s.at(j, s.index, s.mem, s.frame)
		call.Barrier = true
		list = append(list, call)
	}
	return list
}
