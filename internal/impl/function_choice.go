package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// FunctionDecision is how a function of so many bytes is computed, which takes so many instructions for a vector of float32: as it is
// written, or looked up in a table.
func FunctionDecision(t *target.Target, elements, instructions int) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	lookup := loadedByte * float64(lanes)
	if l := t.Lookup(); l != nil {
		lookup = l.Cycles * float64((lanes+l.Lanes-1)/l.Lanes)
	}
	vectors := float64((elements + lanes - 1) / lanes)
	return choice.Least("function",
		choice.Value{Text: "computed", Cost: c.instructions(instructions) * vectors},
		choice.Value{Text: "looked up", Cost: lookup * vectors})
}
