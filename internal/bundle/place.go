package bundle

// A Place is a piece of memory of a run context: what a step reads or writes. Tools that run steps one by one look there.
type Place struct {
	Kind   PlaceKind
	Index  int // of the input, output, constant or symbol
	Offset int // bytes from the start of the workspace, or of what the index names
	Bytes  int
	DType  string // numpy's name of the elements
}

// PlaceKind says which memory of a run context a place is in.
type PlaceKind uint8

// Kinds of places.
const (
	InWorkspace PlaceKind = iota
	InInput
	InOutput
	InParam
	InSymbols // the extent of an axis
)

// Overlaps reports whether two places share bytes.
func (p Place) Overlaps(q Place) bool {
	if p.Kind != q.Kind || p.Index != q.Index {
		return false
	}
	return p.Offset < q.Offset+q.Bytes && q.Offset < p.Offset+p.Bytes
}
