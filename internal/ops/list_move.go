package ops

import "lathe/internal/op"

// moveOps lists the operators that rearrange, repeat or resample elements.
var moveOps = []*op.Def{
	Reshape,
	Transpose,
	Concatenate,
	Split,
	StridedSlice,
	Pad,
	BroadcastTo,
	Tile,
	Repeat,
	Reverse,
	ReverseSequence,
	SpaceToDepth,
	DepthToSpace,
	DepthToSpaceND,
	LayoutTransform,
	Trilu,
	Col2Im,
	Resize,
	GridSample,
	AffineGrid,
}
