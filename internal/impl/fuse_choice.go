package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
	"lathe/internal/types"
)

// A Repeated operand is a value that a kernel may compute for itself, each time that it reads an element.
type Repeated struct {
	Elements int // of it
	DType    types.DType
	Work     int     // instructions that compute an element
	Reads    float64 // of elements by the kernel, which computes so many then
	Together int     // elements read that lie together, where they are parts of the kernel's lines; 0 elsewhere
	Single   bool    // an element is read for whole lines, and computed once for each
}

// FuseDecision is whether the kernel that reads an operand computes it. An operand that has a kernel of its own is computed once, in whole vectors, then
// written and read. Within the kernel that reads it, it is computed for every element that is read, a vector for each part of a line.
func FuseDecision(t *target.Target, o Repeated) choice.Decision {
	c := core{t}
	lanes := c.lanes(max(4, o.DType.Compute().Size()))
	vector := c.instructions(o.Work)
	inside := o.Reads / float64(lanes)
	switch {
	case o.Single:
		inside = o.Reads
	case o.Together%lanes != 0:
		inside = o.Reads / float64(o.Together) * (1 + float64(o.Together-1)/float64(lanes)) // vectors that a part has elements in
	}
	apart := vector*float64(o.Elements)/float64(lanes) + c.Starts(1) + 2*c.between(o.DType.Bytes(o.Elements))
	return choice.Least("fuse", choice.Value{Text: "on", Cost: vector * inside}, choice.Value{Text: "off", Cost: apart})
}
