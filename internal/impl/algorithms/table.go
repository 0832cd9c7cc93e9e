// Package algorithms is the table of all algorithms.
package algorithms

import (
	"lathe/internal/impl"
	"lathe/internal/impl/attention"
	"lathe/internal/impl/extern"
	"lathe/internal/impl/matrix"
	"lathe/internal/impl/strips"
	"lathe/internal/impl/winograd"
)

// Table holds the algorithms in order of preference: the first rule that applies to a kernel is its default.
var Table = impl.Algorithms{
	attention.Algorithm,
	impl.Scalar,
	strips.Algorithm,
	impl.Streamed,
	impl.Tiles,
	impl.Columns,
	impl.Rows,
	impl.Pointwise,
	impl.Serial,
	winograd.Algorithm,
	matrix.Algorithm,
	extern.Algorithm,
}
