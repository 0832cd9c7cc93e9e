package ops

import "lathe/internal/op"

// A DynamicResult is a result whose extent along an axis depends on data. The result has the greatest shape it can have;
// result Count of the same node, an int64 scalar, holds the actual extent; elements beyond it are zero.
type DynamicResult struct{ Result, Axis, Count int }

// DynamicResults lists the results of an operator whose extents depend on data.
func DynamicResults(d *op.Def, attrs any) []DynamicResult {
	switch d {
	case ArgWhere:
		return []DynamicResult{{0, 0, 1}}
	case Compress:
		return []DynamicResult{{0, attrs.(CompressAttrs).Axis, 1}}
	case AllClassNMS:
		return []DynamicResult{{0, 0, 1}}
	}
	return nil
}
