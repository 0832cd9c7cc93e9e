// Package choice gives decisions of the compiler a name. Whoever decides something asks once, with all values that are
// legal and the one that is taken unless somebody objects; a point is what was decided, as data: a person, a record or a
// tuner changes one decision by naming it.
package choice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/tool/spelling"
)

// A Value is one way to decide.
type Value struct {
	Text string
	Cost float64 // cycles of one core, as the asker estimates them; 0: not estimated
}

// A Decision is asked once, by one owner. Values has no text twice.
type Decision struct {
	Name    string // as in the list of its owner
	Values  []Value
	Default int // of Values
}

// Texts makes values without costs.
func Texts(texts ...string) []Value {
	list := make([]Value, len(texts))
	for i, t := range texts {
		list[i].Text = t
	}
	return list
}

// Whether is a decision whether something is done.
func Whether(name string, def bool) Decision {
	d := Decision{Name: name, Values: Texts("off", "on")}
	if def {
		d.Default = 1
	}
	return d
}

// Least is a decision by cost: the default is what costs least, the first of equals.
func Least(name string, values ...Value) Decision {
	d := Decision{Name: name, Values: values}
	for i, v := range values {
		if v.Cost < values[d.Default].Cost {
			d.Default = i
		}
	}
	return d
}

// A Point holds the texts of decisions by name. JSON writes it in the order of names.
type Point map[string]string

// A Chooser decides. Choose returns an index of d.Values.
type Chooser interface {
	Choose(d Decision) (int, error)
}

// Choose takes the value that p names and the default where it names none. A text that is no value is an error.
func (p Point) Choose(d Decision) (int, error) {
	want, ok := p[d.Name]
	if !ok {
		return d.Default, nil
	}
	for i, v := range d.Values {
		if v.Text == want {
			return i, nil
		}
	}
	return 0, fmt.Errorf("decision %s has no value %q here, but %s", d.Name, want, list(d.Values))
}

// Preferred is a point by which decisions without the value that it names are taken by default.
type Preferred Point

// Choose never fails.
func (p Preferred) Choose(d Decision) (int, error) {
	i, err := Point(p).Choose(d)
	if err != nil {
		return d.Default, nil
	}
	return i, nil
}

// list names values for a message, the first of many.
func list(values []Value) string {
	const most = 12
	var texts []string
	for i, v := range values {
		if i == most {
			texts = append(texts, fmt.Sprintf("%d others", len(values)-most))
			break
		}
		texts = append(texts, v.Text)
	}
	return strings.Join(texts, ", ")
}

// A Log asks a chooser and remembers what was asked and taken. The zero Log takes defaults.
type Log struct {
	Chooser Chooser
	Asked   []Decision
	Taken   Point
}

// Decide returns the index of the value to take. A decision is asked once in a log.
func (l *Log) Decide(d Decision) (int, error) {
	if _, again := l.Taken[d.Name]; again {
		return 0, fmt.Errorf("decision %s is asked twice", d.Name)
	}
	i := d.Default
	if l.Chooser != nil {
		var err error
		if i, err = l.Chooser.Choose(d); err != nil {
			return 0, err
		}
	}
	if l.Taken == nil {
		l.Taken = Point{}
	}
	l.Asked = append(l.Asked, d)
	l.Taken[d.Name] = d.Values[i].Text
	return i, nil
}

// Undo forgets the decision that was asked last: what was taken turned out to be impossible.
func (l *Log) Undo() {
	last := len(l.Asked) - 1
	delete(l.Taken, l.Asked[last].Name)
	l.Asked = l.Asked[:last]
}

// Fits reports a decision of p that is not among those that were asked.
func (p Point) Fits(asked []Decision) error {
	known := make([]string, len(asked))
	for i, d := range asked {
		known[i] = d.Name
	}
	slices.Sort(known)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no decision %q (choose from %s)%s", name,
				cmp.Or(strings.Join(known, ", "), "none: nothing is left open"), spelling.Hint(name, known))
		}
	}
	return nil
}
