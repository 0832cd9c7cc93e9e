package plan

// Steering of where values lie, see package impl.
const (
	mostGrowth   = 2    // times: the smallest workspace, that one may have for workers to find their own places again, as long as caches hold it. Chosen.
	newShare     = 0.5  // share: of the time that memory takes for a byte, which one more of the workspace costs, for others leave the cache. Measured: 4 MB more make MobileNetV2 1.3 % slower (Zen 4).
	movedShare   = 0.2  // share: of the time to write what several cores have copies of, for what one other has. Fitted: writing alone takes 0.04 to 0.07, and it moves back later.
	copiesLast   = 2.0  // times: the L2 of a core, that steps touch until its copies have left it. Measured: a core that has read twice its L2 since keeps nobody waiting (Zen 4, cores with a common L3).
	foreignShare = 0.25 // share: of a value, from which on whoever reads it has copies of what others wrote. Chosen: borders of strips are less.
)
