package attention

// Steering, see package impl.
const (
	minQueries   = 4       // queries: from which on keys and values are arranged for a kernel of their own. Fitted: with fewer, to arrange them takes longer.
	kernelsApart = 5       // kernels: more, of an attention that is not one kernel. Counted: queries, keys, values, softmax, second product.
	maxKeys      = 1 << 20 // keys times width: that one head keeps in a worker's scratch. Chosen: it bounds memory.
)
