package plan

import "lathe/internal/graph"

// A Loop says where the values of a loop's body lie. The workspace of the body begins at an offset of the one around it, and its
// inputs and outputs lie where the operands and results of the loop do.
type Loop struct {
	Body            *Plan
	Trips           int
	Offset          int
	Inputs, Outputs []Bound
	Serial          bool // one worker runs it

	size int // of the piece at Offset
}

// A Bound is where an input or output of a body lies: iteration i from 0 on finds it Offset + i*Step bytes from one of three places.
type Bound struct {
	First        Place // in iteration 0
	Even, Odd    Place // in later ones
	Offset, Step int
}

// loop plans the body of step i. Of carried values there are two: the result, and one in the body's piece. Iterations write
// them in turns, such that the last writes the result.
func (p *Plan) loop(i int, s Step, live *pieces, rule Pieces) {
	attrs := s.Node.Attrs.(graph.LoopAttrs)
	l := &Loop{Trips: attrs.Trips, Serial: s.Serial, Body: newPlan(s.Body.Boundary, s.Body.Steps, s.Body.Aliases, rule, p.Constants)}
	l.size = l.Body.Workspace
	spare := make([]Place, attrs.Carried)
	for k := range spare {
		size := rule.size(s.Out[k].Type.Bytes())
		spare[k] = Place{Offset: l.size, Size: size}
		l.size += size
	}
	l.Offset = live.fit(l.size)
	for k := range spare {
		spare[k].Offset += l.Offset
	}
	sliced := func(v *graph.Value) Bound {
		at, bytes := p.Places[v], v.Type.Bytes()/attrs.Trips
		return Bound{First: at, Even: at, Odd: at, Offset: attrs.Slice(0) * bytes, Step: (attrs.Slice(attrs.Trips-1) - attrs.Slice(0)) / max(1, attrs.Trips-1) * bytes}
	}
	for k, v := range s.Out {
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
	}
	for k, v := range s.In[attrs.Carried:] {
		if k < attrs.Sequences {
			l.Inputs = append(l.Inputs, sliced(v))
			continue
		}
		at := p.Places[v]
		l.Inputs = append(l.Inputs, Bound{First: at, Even: at, Odd: at})
	}
	p.Loops[i] = l
}
