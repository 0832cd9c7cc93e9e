package plan

import "lathe/internal/graph"

// A Loop says where the values of a loop's body lie. The workspace of the body begins at an offset of the one around it, and its
// inputs and outputs lie where the operands and results of the loop do.
type Loop struct {
	Body            *Plan
	Trips           int // with While at most; 0: any number
	Offset          int
	Inputs, Outputs []Bound
	Serial          bool // one worker runs it
	While           *While
	Parts           int // 2 or more: any worker runs one of so many, whose workspaces begin Apart bytes behind each other
	Apart           int

	size int // of the piece at Offset
	few  int // iterations, for sums
}

// A While says what is to be done at the end of a loop that ends when its first input is false: the last values of the carried
// inputs go to their places, what is left of the slices becomes zero, and Count gets the number of iterations.
type While struct {
	Results []Place // of the carried inputs
	Bytes   []int   // of these, then of the slices
	Count   Place
	Strict  bool // where there would be more iterations than Trips, that is an error
}

// A Bound is where an input or output of a body lies: iteration i from 0 on of part j finds it Offset + i*Step + j*Part bytes from one of three places.
type Bound struct {
	First              Place // in iteration 0
	Even, Odd          Place // in later ones
	Offset, Step, Part int
}

// loop plans the body of step s. Of carried values there are two: the result, and one in the body's piece. Iterations write
// them in turns, such that the last writes the result, where it is known which that is.
func (p *Plan) loop(s Step, live *pieces, rule Pieces) *Loop {
	attrs, ok := s.Node.Attrs.(graph.LoopAttrs)
	body := s.Bodies[0]
	if !ok { // a region of an external code generator
		l := p.once(s, body, s.In, rule)
		l.Offset = live.fit(l.size, rule)
		return l
	}
	l := &Loop{Trips: attrs.Trips, Serial: s.Serial, Body: newPlan(body.Boundary, body.Steps, body.Aliases, rule, p.constants, nil), few: attrs.Few()}
	l.size = l.Body.Workspace
	if l.Parts = attrs.Parts; l.Parts > 1 {
		l.Apart = rule.start(rule.size(l.size), l.size)
		l.size = l.Parts * l.Apart
	}
	spare := make([]Place, attrs.Carried)
	for k := range spare {
		size := rule.size(s.Out[k].Type.Bytes())
		spare[k] = Place{Offset: rule.start(l.size, size), Size: size}
		l.size = spare[k].Offset + size
	}
	l.Offset = live.fit(l.size, rule)
	for k := range spare {
		spare[k].Offset += l.Offset
	}
	results := s.Out
	if attrs.While {
		last := len(results) - 1
		l.While = &While{Strict: attrs.Strict, Count: p.Places[results[last]]}
		results = results[:last]
	}
	sliced := func(v *graph.Value) Bound {
		at, bytes := p.Places[v], v.Type.Bytes()/attrs.Trips
		return Bound{First: at, Even: at, Odd: at, Offset: attrs.Slice(0) * bytes, Step: (attrs.Slice(attrs.Trips-1) - attrs.Slice(0)) / max(1, attrs.Trips-1) * bytes}
	}
	for k, v := range results {
		if attrs.While {
			l.While.Bytes = append(l.While.Bytes, body.Outputs[k].Type.Bytes())
		}
		if k >= attrs.Carried {
			l.Outputs = append(l.Outputs, sliced(v))
			continue
		}
		even, odd := p.Places[v], spare[k] // of what is written
		if attrs.Trips%2 == 0 {
			even, odd = odd, even
		}
		l.Outputs = append(l.Outputs, Bound{First: even, Even: even, Odd: odd})
		l.Inputs = append(l.Inputs, Bound{First: p.Places[s.In[k]], Even: odd, Odd: even})
		if attrs.While {
			l.While.Results = append(l.While.Results, p.Places[v])
		}
	}
	for k, v := range s.In[attrs.Carried:] {
		if k < attrs.Sequences {
			l.Inputs = append(l.Inputs, sliced(v))
		} else {
			l.Inputs = append(l.Inputs, p.fixed(v))
		}
	}
	if l.Parts > 1 {
		part := func(b *Bound, v, inside *graph.Value, sliced bool) {
			if axis, _ := attrs.Part(v.Type, inside.Type, sliced); axis >= 0 {
				b.Part = inside.Type.Bytes()
			}
		}
		for k := range l.Inputs {
			part(&l.Inputs[k], s.In[k], body.Inputs[k], k >= attrs.Carried && k < attrs.Carried+attrs.Sequences)
		}
		for k := range l.Outputs {
			part(&l.Outputs[k], s.Out[k], body.Outputs[k], k >= attrs.Carried)
		}
	}
	return l
}

// fixed is where v lies in each iteration.
func (p *Plan) fixed(v *graph.Value) Bound {
	at := p.Places[v]
	return Bound{First: at, Even: at, Odd: at}
}

// once plans a body that runs once, in whose place the operands and results are the given ones.
func (p *Plan) once(s Step, body *Body, operands []*graph.Value, rule Pieces) *Loop {
	l := &Loop{Trips: 1, few: 1, Serial: s.Serial, Body: newPlan(body.Boundary, body.Steps, body.Aliases, rule, p.constants, nil)}
	l.size = l.Body.Workspace
	for _, v := range operands {
		l.Inputs = append(l.Inputs, p.fixed(v))
	}
	for _, v := range s.Out {
		l.Outputs = append(l.Outputs, p.fixed(v))
	}
	return l
}

// Branches say where the values of two bodies lie, of which the first runs where the byte at Condition is not zero. Either is a loop
// of one iteration. They lie in the same piece of the workspace.
type Branches struct {
	Condition Place
	Ways      [2]*Loop
	Serial    bool
}

func (p *Plan) branches(s Step, live *pieces, rule Pieces) *Branches {
	b, size := &Branches{Condition: p.Places[s.In[0]], Serial: s.Serial}, 0
	for k, body := range s.Bodies {
		l := p.once(s, body, s.In[1:], rule)
		size = max(size, l.size)
		b.Ways[k] = l
	}
	for _, l := range b.Ways {
		l.Offset = live.fit(size, rule)
	}
	return b
}
