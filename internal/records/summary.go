package records

import (
	"cmp"
	"slices"

	"lathe/internal/choice"
)

// A Standing is how far what was found for a kernel has come.
type Standing string

// Standings.
const (
	Accepted    Standing = "accepted"  // a verdict has it
	Withdrawn   Standing = "withdrawn" // a network was not faster with it
	Confirmed   Standing = "confirmed" // fresh pairs say so, no network was raced
	Unconfirmed Standing = "searched"  // the best of a search
	Nothing     Standing = "rules"     // nothing was faster than what the rules choose
)

// A Summary is of all records of a kernel in a network.
type Summary struct {
	Key
	Name     string       `json:"name,omitempty"`
	Network  string       `json:"network,omitempty"`
	Trials   int          `json:"trials"`
	Faults   int          `json:"faults"`
	Standing Standing     `json:"standing"`
	Point    choice.Point `json:"point,omitempty"` // the best by its standing
	Ratio    float64      `json:"ratio,omitempty"` // of its time over the rules'
	Low      float64      `json:"low,omitempty"`
	High     float64      `json:"high,omitempty"`
}

// Summarise tells of each kernel in each network what was found, in the order of first records.
func Summarise(list []Record) []Summary {
	type group struct {
		Key
		network string
	}
	var order []group
	groups := map[group][]Record{}
	for _, r := range list {
		p := group{r.Key, r.Network}
		if groups[p] == nil {
			order = append(order, p)
		}
		groups[p] = append(groups[p], r)
	}
	var out []Summary
	for _, p := range order {
		s := Summary{Key: p.Key, Network: p.network, Name: groups[p][0].Name, Standing: Nothing}
		for _, r := range groups[p] {
			if r.Stage == Search {
				s.Trials++
			}
			if r.Fault != None {
				s.Faults++
			}
		}
		if r, standing := top(groups[p]); r != nil {
			s.Standing, s.Point, s.Ratio, s.Low, s.High = standing, r.Point, r.Ratio, r.Low, r.High
		}
		out = append(out, s)
	}
	return out
}

// top is the record of a group that has come farthest.
func top(group []Record) (*Record, Standing) {
	if best, ok := NewBook(group).Best(group[0].Key, group[0].Network); ok {
		return &best, Accepted
	}
	for _, want := range []struct {
		stage    Stage
		standing Standing
		fits     func(r *Record) bool
	}{
		{Network, Withdrawn, func(*Record) bool { return true }},
		{Confirm, Confirmed, func(r *Record) bool { return r.Accepted }},
		{Search, Unconfirmed, func(r *Record) bool { return r.Ratio > 0 && r.Ratio < 1 }},
	} {
		var fit []Record
		for _, r := range group {
			if r.Stage == want.stage && want.fits(&r) {
				fit = append(fit, r)
			}
		}
		if len(fit) > 0 {
			best := slices.MinFunc(fit, func(a, b Record) int { return cmp.Compare(a.High, b.High) })
			return &best, want.standing
		}
	}
	return nil, Nothing
}

// A Difference is a kernel of which two files say different things. One of both may be nil.
type Difference struct {
	A *Summary `json:"a"`
	B *Summary `json:"b"`
}

// Diff compares what two lists found: kernels that one of them lacks, and those with another standing or point.
func Diff(a, b []Record) []Difference {
	type group struct {
		Key
		network string
	}
	at := func(s *Summary) group { return group{s.Key, s.Network} }
	second := map[group]*Summary{}
	right := Summarise(b)
	for i := range right {
		second[at(&right[i])] = &right[i]
	}
	var out []Difference
	left := Summarise(a)
	for i := range left {
		s := &left[i]
		other := second[at(s)]
		delete(second, at(s))
		if other == nil || other.Standing != s.Standing || identity(other.Point) != identity(s.Point) {
			out = append(out, Difference{s, other})
		}
	}
	for i := range right {
		if second[at(&right[i])] != nil {
			out = append(out, Difference{nil, &right[i]})
		}
	}
	return out
}
