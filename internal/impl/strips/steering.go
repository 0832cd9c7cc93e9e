package strips

// Steering: what the estimates use that is no fact of a target, see package impl.
const (
	exposed       = 0.33 // share: of the time on the way to and from L3, that other work does not hide. Fitted: first layers of networks for images.
	pointwiseWork = 10   // operations: of a pointwise operator for an element. Chosen: what the usual ones take.
	fills         = 0.75 // share: of L2, from which on a tensor does not stay there beside others. Chosen.
)
