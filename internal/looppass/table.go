// Package looppass transforms loop IR after scheduling. table.go is the pipeline; every other file is one pass.
package looppass

import (
	"lathe/internal/loop"
	"lathe/internal/pipeline"
)

// Table is the pipeline, in the order it runs.
var Table = []pipeline.Pass[*loop.Func]{
	{Name: "LowerBlocks", Required: true, Run: lowerBlocks, Doc: "replaces blocks by stores under the conditions of their domains, and simplifies indices and conditions by the ranges of loops"},
	{Name: "NameParts", Required: true, Run: nameParts, Doc: "binds the quotients and remainders of parallel loops' variables, the parts of a fused loop"},
	{Name: "HoistGuards", Required: true, Run: hoistGuards, Doc: "moves conditions out of loops they do not depend on and turns them into loop bounds"},
	{Name: "JoinSplits", Required: true, Run: joinSplits, Doc: "binds the joint index of a loop and of the one that it was split from, where borders are borders of that"},
	{Name: "LoopPartition", Required: true, Run: partition, Doc: "separates border and tail iterations, so that the interior tests nothing"},
	{Name: "TightenBorders", Required: true, Run: tightenBorders, Doc: "hoists and resolves the conditions that are constant in the separated borders"},
	{Name: "FillSpareLanes", Required: false, Run: fillSpareLanes, Doc: "lets vectors fill lanes of local buffers that nobody reads"},
	{Name: "HoistChoices", Required: true, Run: hoistChoices, Doc: "tests conditions that are the same for all elements of vectors once, outside of loops over these"},
	{Name: "HoistPlaces", Required: true, Run: hoistPlaces, Doc: "binds places that memory gives outside of the loops in which they are the same"},
}

// Order holds the reasons for the table's order.
var Order = []pipeline.Order{
	{Before: "LowerBlocks", After: "HoistGuards", Why: "a block's conditions are no statements before"},
	{Before: "LowerBlocks", After: "NameParts", Why: "the simplification of indices joins quotients and remainders again, which names would hide"},
	{Before: "NameParts", After: "LoopPartition", Why: "borders of a part are told apart at its name"},
	{Before: "HoistGuards", After: "JoinSplits", Why: "a condition that is invariant in the tile becomes a bound of the loop, which a joint index would hide"},
	{Before: "NameParts", After: "JoinSplits", Why: "the part of a parallel loop that a loop was split from has a name"},
	{Before: "JoinSplits", After: "LoopPartition", Why: "borders of a joint index are told apart at its name"},
	{Before: "HoistGuards", After: "LoopPartition", Why: "a condition that is invariant in the tile is a bound of an outer loop, and splitting for it would copy the tile"},
	{Before: "TightenBorders", After: "FillSpareLanes", Why: "vectors that a border keeps out as a whole are gone"},
	{Before: "TightenBorders", After: "HoistChoices", Why: "a condition that is constant in a border chooses nothing there"},
	{Before: "HoistChoices", After: "HoistPlaces", Why: "a place that a choice reads is one of each iteration once the choice is made outside"},
	{Before: "LoopPartition", After: "TightenBorders", Why: "only in the separated pieces are the remaining conditions constant"},
}
