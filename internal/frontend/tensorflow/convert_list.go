package tensorflow

import (
	"lathe/internal/frontend/tfops"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A TensorArray of TensorFlow 1 and a TensorList of TensorFlow 2 are a tensor of all elements, or while elements are missing a list of the
// importer, in which those are nil. The handle of a TensorArray does not matter: each change makes another flow, which stands for the list.
var listRows = []row{
	{"TensorArrayV3", func(c *call) values {
		c.Ignore("dtype", "element_shape")
		l := c.reserved(c.KnownInt(0, "the size"), c.elementShape("element_shape"), c.typeOf("dtype", types.Invalid))
		return values{l, l}
	}},
	{"TensorArrayReadV3", one(func(c *call) *graph.Value { c.Ignore("dtype"); return c.element(c.In[2], c.X(1)) })},
	{"TensorArrayWriteV3", one(func(c *call) *graph.Value { return c.written(c.In[3], c.X(1), c.X(2)) })},
	{"TensorArrayScatterV3", one(func(c *call) *graph.Value { return c.scattered(c.In[3], c.KnownInts(1, "the places"), c.X(2)) })},
	{"TensorArrayGatherV3", one(func(c *call) *graph.Value {
		c.Ignore("dtype", "element_shape")
		return c.gathered(c.In[2], c.X(1))
	})},
	{"TensorArraySizeV3", one(func(c *call) *graph.Value { return compose.Number(types.I32, float64(c.length(c.In[1]))) })},
	{"TensorArrayConcatV3", one(func(c *call) *graph.Value { c.Ignore("dtype", "element_shape_except0"); return c.concatenated(c.In[2]) })},
	{"TensorArraySplitV3", one(func(c *call) *graph.Value { return c.List(c.Split(c.X(1), 0, c.KnownInts(2, "the lengths")...)) })},

	{"TensorListReserve", one(func(c *call) *graph.Value {
		c.Ignore("shape_type")
		return c.reserved(c.KnownInt(1, "the number of elements"), knownShape(c.X(0)), c.elementType())
	})},
	{"EmptyTensorList", one(func(c *call) *graph.Value { c.Ignore("shape_type"); return c.List(values{}) })},
	{"TensorListFromTensor", one(func(c *call) *graph.Value { c.Ignore("shape_type"); return c.X(0) })},
	{"TensorListStack", one(func(c *call) *graph.Value { c.Ignore("num_elements"); return c.dense(c.In[0]) })},
	{"TensorListGetItem", one(func(c *call) *graph.Value { return c.element(c.In[0], c.X(1)) })},
	{"TensorListSetItem", one(func(c *call) *graph.Value {
		c.Ignore("resize_if_index_out_of_bounds")
		return c.written(c.In[0], c.X(1), c.X(2))
	})},
	{"TensorListLength", one(func(c *call) *graph.Value { return compose.Number(types.I32, float64(c.length(c.In[0]))) })},
	{"TensorListPushBack", one(func(c *call) *graph.Value { return c.List(append(slices.Clone(c.elements(c.In[0])), c.X(1))) })},
	{"TensorListPopBack", func(c *call) values {
		l := c.elements(c.In[0])
		if len(l) == 0 {
			compose.Fail("the list is empty")
		}
		return values{c.List(slices.Clone(l[:len(l)-1])), l[len(l)-1]}
	}},
	{"TensorListGather", one(func(c *call) *graph.Value { return c.gathered(c.In[0], c.X(1)) })},
	{"TensorListScatterV2", one(func(c *call) *graph.Value {
		c.Ignore("shape_type")
		places := c.KnownInts(1, "the places")
		n := c.KnownInt(3, "the number of elements")
		for _, p := range places {
			n = max(n, p+1)
		}
		return c.scattered(c.reserved(n, nil, types.Invalid), places, c.X(0))
	})},
	{"TensorListConcatV2", one(func(c *call) *graph.Value { c.Ignore("shape_type"); return c.concatenated(c.In[0]) })},
	{"TensorListResize", one(func(c *call) *graph.Value {
		l, n := slices.Clone(c.elements(c.In[0])), c.KnownInt(1, "the size")
		for len(l) < min(n, maxResults) {
			l = append(l, nil)
		}
		return c.List(l[:min(max(n, 0), len(l))])
	})},
}

// writes are the operators that set one element.
var writes = map[string]bool{"TensorArrayWriteV3": true, "TensorListSetItem": true}

// elementType is the type of a list's elements, which is no attribute that other rows look at.
func (c *call) elementType() types.DType {
	d, err := c.Node.Attrs.DType("element_dtype")
	if err != nil {
		compose.Fail("%w", err)
	}
	return d
}

// elementShape is an attribute, nil where it is not known.
func (c *call) elementShape(name string) []int {
	s, err := c.Node.Attrs.(attributes).node.shape(name)
	if err != nil || !s.known {
		return nil
	}
	out, err := extents(s)
	if err != nil {
		return nil
	}
	return out
}

// knownShape is the shape that a value is, nil where it is not known.
func knownShape(v *graph.Value) []int {
	t := v.Value()
	if t == nil || !t.DType.IsInt() || len(t.Shape) != 1 {
		return nil
	}
	s := append([]int{}, t.Ints()...)
	if slices.ContainsFunc(s, func(n int) bool { return n < 0 }) {
		return nil
	}
	return s
}

// reserved is a list of n elements: zeros where their shape is known, else missing.
func (c *call) reserved(n int, shape []int, d types.DType) *graph.Value {
	if n < 0 || n > maxResults {
		compose.Fail("a list of %d elements", n)
	}
	if shape != nil {
		return c.Full(d, 0, append([]int{n}, shape...)...)
	}
	return c.List(make(values, n))
}

// length is the number of elements.
func (c *call) length(l *graph.Value) int {
	if e, ok := c.Elements(l); ok {
		return len(e)
	}
	if l == nil || l.Type.Rank() == 0 {
		compose.Fail("an operand is no list")
	}
	return l.Type.Shape[0]
}

// elements are those of a list, nil where one is missing.
func (c *call) elements(l *graph.Value) values {
	if e, ok := c.Elements(l); ok {
		return e
	}
	c.length(l)
	return tfops.Elements(c.Call, l, 0)
}

// dense is a list as one tensor. Elements that are missing are zeros like the others.
func (c *call) dense(l *graph.Value) *graph.Value {
	e, ok := c.Elements(l)
	if !ok {
		c.length(l)
		return l
	}
	i := slices.IndexFunc(e, func(v *graph.Value) bool { return v != nil })
	if i < 0 {
		compose.Fail("the elements of a list are read before any is written, which is not supported")
	}
	all := slices.Clone(e)
	for k, v := range all {
		if v == nil {
			all[k] = c.Full(e[i].Type.DType, 0, e[i].Type.Shape...)
		}
	}
	return c.Stack(0, all...)
}

// element is the one at a place, which need not be known.
func (c *call) element(l, at *graph.Value) *graph.Value {
	if t := at.Value(); t != nil {
		i, n := int(t.Int(0)), c.length(l)
		if i < 0 || i >= n {
			compose.Fail("element %d of a list of %d", i, n)
		}
		if e, ok := c.Elements(l); ok && e[i] != nil {
			return e[i]
		}
		return c.At(c.dense(l), 0, i)
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, c.dense(l), c.Scalar(at))
}

// written is a list with another element at a place.
func (c *call) written(l, at, item *graph.Value) *graph.Value {
	e, loose := c.Elements(l)
	if t := at.Value(); t != nil && (loose || c.length(l) <= frontend.MaxIterations) {
		i := int(t.Int(0))
		if !loose {
			e = tfops.Elements(c.Call, l, 0)
		}
		for i >= len(e) && i < maxResults { // a TensorArray of dynamic size grows
			e = append(slices.Clone(e), nil)
		}
		if i < 0 || i >= len(e) {
			compose.Fail("element %d of a list of %d", i, len(e))
		}
		e = slices.Clone(e)
		e[i] = item
		return c.List(e)
	}
	if loose && !slices.ContainsFunc(e, func(v *graph.Value) bool { return v != nil }) {
		l = c.Full(item.Type.DType, 0, append([]int{len(e)}, item.Type.Shape...)...)
	}
	all := c.dense(l)
	places := make([]int, all.Type.Rank())
	for k := range places {
		places[k] = 1
	}
	places[0] = all.Type.Shape[0]
	here := c.Do(ops.Equal, c.Reshape(c.Arange(places[0]), places...), c.Cast(c.Scalar(at), types.I64))
	return c.Do(ops.Where, here, c.ExpandDims(item, 0), all)
}

// scattered is a list with the rows of x at places.
func (c *call) scattered(l *graph.Value, places []int, x *graph.Value) *graph.Value {
	if x.Type.Rank() == 0 || x.Type.Shape[0] != len(places) {
		compose.Fail("%d places for %s", len(places), x.Type)
	}
	if ordered(places) && (len(places) == c.length(l) || c.length(l) == 0) {
		return x
	}
	e := slices.Clone(c.elements(l))
	for i, at := range places {
		for at >= len(e) && at < maxResults {
			e = append(e, nil)
		}
		if at < 0 || at >= len(e) {
			compose.Fail("element %d of a list of %d", at, len(e))
		}
		e[at] = c.At(x, 0, i)
	}
	return c.List(e)
}

// ordered reports whether places are 0, 1, 2 and so on.
func ordered(places []int) bool {
	for i, at := range places {
		if at != i {
			return false
		}
	}
	return true
}

// gathered are the elements at places as one tensor.
func (c *call) gathered(l, places *graph.Value) *graph.Value {
	all := c.dense(l)
	if t := places.Value(); t != nil && t.Len() == all.Type.Shape[0] && ordered(t.Ints()) {
		return all
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, all, c.Cast(places, types.I64))
}

// concatenated joins elements along their first axis.
func (c *call) concatenated(l *graph.Value) *graph.Value {
	e := c.elements(l)
	if len(e) == 0 || slices.Contains(e, nil) {
		compose.Fail("a list without elements, or of which some are missing, is joined")
	}
	return c.Concat(0, e...)
}
