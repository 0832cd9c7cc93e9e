package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/tool/readjson"
	"lathe/internal/tool/spelling"
)

// Measured are numbers of a core that were measured. They count for the machine they were measured on, and there before what it
// tells and its row has.
type Measured struct {
	Machine string         `json:"machine"` // as Target.Machine names it: another, or one with other features, has other numbers
	Facts   map[string]int `json:"facts"`   // by the names of Facts
}

// ReadMeasured reads what json.Marshal made of a Measured.
func ReadMeasured(data []byte) (*Measured, error) {
	var m Measured
	if err := readjson.Strict(data, &m); err != nil {
		return nil, err
	}
	if m.Machine == "" {
		return nil, errors.New(`no "machine" is named`)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Facts)) {
		i := slices.Index(Facts(), name)
		if i < 0 {
			return nil, fmt.Errorf("there is no fact %q%s", name, spelling.Hint(name, Facts()))
		}
		if f, n := facts[i], m.Facts[name]; n < f.least || n > f.most {
			return nil, fmt.Errorf("%s is %d: must be a number from %d to %d", name, n, f.least, f.most)
		}
	}
	return &m, nil
}

// Measure is what is known of t's machine by a core that was measured, whose numbers are 0 where they are unknown.
func (t *Target) Measure(c Core) *Measured {
	m := &Measured{Machine: t.Machine(), Facts: map[string]int{}}
	for _, f := range facts {
		if n := *f.field(&c); n >= f.least && n <= f.most {
			m.Facts[f.name] = n
		}
	}
	return m
}

// Machine is the CPU with the changes to what its name implies.
func (t *Target) Machine() string {
	return strings.TrimSuffix(fmt.Sprintf("-mcpu=%s -mattr=%s", t.CPU, strings.Join(t.Attrs, ",")), " -mattr=")
}

// measuredFacts are those of m, where it is of t's machine.
func (t *Target) measuredFacts(m *Measured) {
	if m == nil || m.Machine != t.Machine() {
		return
	}
	for _, f := range facts {
		if n, ok := m.Facts[f.name]; ok {
			*f.field(&t.Core) = n
		}
	}
}
