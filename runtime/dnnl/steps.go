package dnnl

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// add adds the executions of a step. Where a primitive chooses how its operands lie, they are brought into that order first.
func (b *builder) add(s Step) error {
	switch s.Kind {
	case "convolution", "inner_product", "matmul":
		return b.product(s)
	case "reshape":
		return b.reshape(s)
	case "concat":
		return b.concat(s)
	}
	return b.pointwise(s)
}

// shape of a tensor.
func (b *builder) shape(v int) []int64 { return b.program.Tensors[v].Shape }

// product adds a convolution, a dense layer or a product of matrices, with what is computed on its sums.
func (b *builder) product(s Step) error {
	x, w, y := b.open(b.shape(s.Operands[0])), b.open(b.shape(s.Operands[1])), b.open(b.shape(s.Result))
	var bias uintptr
	if s.Bias {
		bias = pointer(b.dense(b.shape(s.Operands[2])))
	}
	op := b.operation()
	at := uintptr(unsafe.Pointer(&op[0]))
	switch s.Kind {
	case "convolution":
		shape := b.shape(s.Operands[1])
		if s.Groups > 1 {
			shape = append([]int64{s.Groups, shape[0] / s.Groups}, shape[1:]...)
		}
		w = b.open(shape)
		dilates := slices.Clone(s.Dilation)
		for i := range dilates {
			dilates[i]--
		}
		b.note(call(b.api.convolution, at, forwardInference, convolutionAuto, pointer(x), pointer(w), bias, pointer(y),
			b.list(s.Strides), b.list(dilates), b.list(s.Before), b.list(s.After)))
	case "inner_product":
		b.note(call(b.api.innerProduct, at, forwardInference, pointer(x), pointer(w), bias, pointer(y)))
	case "matmul":
		if bias != 0 { // of the columns
			shape := slices.Repeat([]int64{1}, len(b.shape(s.Result)))
			shape[len(shape)-1] = b.shape(s.Operands[2])[0]
			bias = pointer(b.dense(shape))
		}
		x, w = b.open(transposed(b.shape(s.Operands[0]), s.TransposeA)), b.open(transposed(b.shape(s.Operands[1]), s.TransposeB))
		b.note(call(b.api.matmul, at, pointer(x), pointer(w), bias, pointer(y)))
	}
	pd, err := b.described(at, s.Post)
	if err != nil {
		return err
	}
	source, err := b.viewed(s.Operands[0], b.shape(s.Operands[0]), s.TransposeA && s.Kind == "matmul", b.queried(pd, querySource, 0))
	if err != nil {
		return err
	}
	shape := b.shape(s.Operands[1])
	if s.Kind == "convolution" && s.Groups > 1 {
		shape = append([]int64{s.Groups, shape[0] / s.Groups}, shape[1:]...)
	}
	weights, err := b.viewed(s.Operands[1], shape, s.TransposeB && s.Kind == "matmul", b.queried(pd, queryWeights, 0))
	if err != nil {
		return err
	}
	to := b.queried(pd, queryDestination, 0)
	args := []argument{{index: argSource, memory: source.memory}, {index: argWeights, memory: weights.memory}}
	if s.Bias {
		v, err := b.bias(s)
		if err != nil {
			return err
		}
		args = append(args, argument{index: argBias, memory: v.memory})
	}
	out, err := b.result(s, to)
	if err != nil {
		return err
	}
	return b.execute(pd, append(args, argument{index: argDestination, memory: out.memory})...)
}

// bias is the operand behind the weights in the shape in which the primitive reads it.
func (b *builder) bias(s Step) (*value, error) {
	v, shape := s.Operands[2], b.shape(s.Operands[2])
	if s.Kind == "matmul" {
		shape = append(slices.Repeat([]int64{1}, len(b.shape(s.Result))-1), shape[0])
	}
	return b.viewed(v, shape, false, b.dense(shape))
}

// transposed is a shape with its last two axes changed, if on.
func transposed(shape []int64, on bool) []int64 {
	shape = slices.Clone(shape)
	if n := len(shape); on && n >= 2 {
		shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
	}
	return shape
}

// viewed is tensor v in the order d, seen in another shape or with its last two axes changed.
func (b *builder) viewed(v int, shape []int64, transpose bool, d desc) (*value, error) {
	from := b.values[v]
	if slices.Equal(shape, b.shape(v)) && !transpose {
		return b.as(v, from, d)
	}
	from, err := b.as(v, from, b.dense(b.shape(v)))
	if err != nil {
		return nil, err
	}
	view := b.dense(shape)
	if transpose {
		n := len(shape)
		strides := make([]int64, n)
		next := int64(1)
		for i := n - 1; i >= 0; i-- {
			strides[i] = next
			next *= shape[i]
		}
		strides[n-1], strides[n-2] = strides[n-2], strides[n-1]
		view = b.strided(transposed(shape, true), strides)
	}
	return b.alias(v, from, view, d)
}

// alias is the memory of a value under another description, and then in the order d.
func (b *builder) alias(v int, from *value, view, d desc) (*value, error) {
	w, err := b.wrap(view, from.data)
	if err != nil {
		return nil, err
	}
	if from.data == nil { // the caller's, which each run sets
		b.same[from] = append(b.same[from], w)
	}
	return b.as(v, w, d)
}

// result makes the tensor that a step writes; where a post-operation adds to it, it is that operand first.
func (b *builder) result(s Step, d desc) (*value, error) {
	sums := slices.ContainsFunc(s.Post, func(p Post) bool { return p.Function == "sum" })
	if last := s.Operands[len(s.Operands)-1]; sums && b.uses[last] == 1 && b.values[last].buffer != nil && b.equal(b.values[last].desc, d) {
		b.values[s.Result], b.values[last] = b.values[last], nil // nothing else reads it
		return b.values[s.Result], b.failed
	}
	out, err := b.allocate(d, false)
	if err != nil {
		return nil, err
	}
	if sums {
		if err := b.reorder(b.values[s.Operands[len(s.Operands)-1]], out, b.step); err != nil {
			return nil, err
		}
	}
	b.values[s.Result] = out
	return out, nil
}

// operation is room for the description of an operation.
func (b *builder) operation() []byte {
	op := make([]byte, opBytes)
	b.kept = append(b.kept, op)
	return op
}

// list is an array of extents, one for each axis.
func (b *builder) list(n []int64) uintptr {
	d := new([maxRank]int64)
	copy(d[:], n)
	b.kept = append(b.kept, d)
	return uintptr(unsafe.Pointer(d))
}

// described makes the primitive's description of an operation with post-operations.
func (b *builder) described(op uintptr, post []Post) (pd uintptr, err error) {
	if b.failed != nil {
		return 0, b.failed
	}
	var attr, ops uintptr
	if len(post) > 0 {
		b.note(call(b.api.attrCreate, uintptr(unsafe.Pointer(&attr))))
		b.note(call(b.api.postCreate, uintptr(unsafe.Pointer(&ops))))
		for _, p := range post {
			if p.Function == "sum" {
				b.note(b.api.postSum(ops, 1))
			} else {
				b.note(b.api.postEltwise(ops, 1, functions[p.Function], p.Alpha, p.Beta))
			}
		}
		b.note(call(b.api.attrSetPost, attr, ops))
		defer call(b.api.attrDestroy, attr)
		defer call(b.api.postDestroy, ops)
	}
	b.note(call(b.api.primitiveDesc, uintptr(unsafe.Pointer(&pd)), op, attr, b.api.engine, 0))
	return pd, b.failed
}

// pointwise adds poolings, softmax and functions of elements, which take their operand as it lies.
func (b *builder) pointwise(s Step) error {
	x := b.values[s.Operands[0]]
	op := b.operation()
	at := uintptr(unsafe.Pointer(&op[0]))
	args := []argument{{index: argSource, memory: x.memory}}
	to := b.open(b.shape(s.Result))
	switch s.Kind {
	case "max_pool", "avg_pool":
		algorithm := uintptr(poolMax)
		if s.Kind == "avg_pool" {
			if algorithm = poolExclude; s.IncludePadding {
				algorithm = poolInclude
			}
		}
		dilates := slices.Clone(s.Dilation)
		for i := range dilates {
			dilates[i]--
		}
		b.note(call(b.api.pooling, at, forwardInference, algorithm, pointer(x.desc), pointer(to), b.list(s.Strides), b.list(s.Kernel), b.list(dilates), b.list(s.Before), b.list(s.After)))
	case "softmax", "log_softmax":
		algorithm := uintptr(softmaxAccurate)
		if s.Kind == "log_softmax" {
			algorithm = softmaxLog
		}
		to = x.desc
		b.note(call(b.api.softmax, at, forwardInference, algorithm, pointer(x.desc), pointer(to), uintptr(s.Axis)))
	case "eltwise":
		to = x.desc
		b.note(b.api.eltwise(unsafe.Pointer(&op[0]), forwardInference, functions[s.Function], unsafe.Pointer(x.desc), s.Alpha, s.Beta))
	case "binary":
		y := b.values[s.Operands[1]]
		if slices.Equal(b.shape(s.Operands[0]), b.shape(s.Operands[1])) {
			var err error
			if y, err = b.as(s.Operands[1], y, x.desc); err != nil {
				return err
			}
		} else { // broadcast: its missing axes are those in front
			shape := append(slices.Repeat([]int64{1}, len(b.shape(s.Operands[0]))-len(b.shape(s.Operands[1]))), b.shape(s.Operands[1])...)
			var err error
			if y, err = b.viewed(s.Operands[1], shape, false, b.dense(shape)); err != nil {
				return err
			}
		}
		to = x.desc
		args = append(args, argument{index: argSource1, memory: y.memory})
		b.note(call(b.api.binary, at, uintptr(binaries[s.Function]), pointer(x.desc), pointer(y.desc), pointer(to)))
	}
	pd, err := b.described(at, nil)
	if err != nil {
		return err
	}
	if s.Kind == "max_pool" || s.Kind == "avg_pool" {
		to = b.queried(pd, queryDestination, 0)
	}
	out, err := b.result(s, to)
	if err != nil {
		return err
	}
	return b.execute(pd, append(args, argument{index: argDestination, memory: out.memory})...)
}

// reshape copies into row-major order and sees that in another shape.
func (b *builder) reshape(s Step) error {
	x := b.values[s.Operands[0]]
	out, err := b.allocate(b.dense(b.shape(s.Operands[0])), false)
	if err != nil {
		return err
	}
	if err := b.reorder(x, out, b.step); err != nil {
		return err
	}
	view, err := b.wrap(b.dense(b.shape(s.Result)), out.data)
	if err != nil {
		return err
	}
	view.buffer = out.buffer
	b.values[s.Result] = view
	return nil
}

// concat joins tensors along an axis, all in the order of the first.
func (b *builder) concat(s Step) error {
	descs := make([]byte, descBytes*len(s.Operands))
	b.kept = append(b.kept, descs)
	args := make([]argument, 0, len(s.Operands)+1)
	for i, v := range s.Operands {
		x := b.values[v]
		copy(descs[i*descBytes:], x.desc[:])
		args = append(args, argument{index: argMultiple + int32(i), memory: x.memory})
	}
	to := b.open(b.shape(s.Result))
	var pd uintptr
	if err := check(call(b.api.concat, uintptr(unsafe.Pointer(&pd)), pointer(to), uintptr(len(s.Operands)), uintptr(s.Axis), uintptr(unsafe.Pointer(&descs[0])), 0, b.api.engine)); err != nil {
		return err
	}
	out, err := b.result(s, b.queried(pd, queryDestination, 0))
	if err != nil {
		return err
	}
	return b.execute(pd, append(args, argument{index: argDestination, memory: out.memory})...)
}

// runAll executes in order.
func (r *region) runAll(list []execution) error {
	for i := range list {
		e := &list[i]
		status, _, _ := purego.SyscallN(r.api.primitiveExecute, e.primitive, r.stream, uintptr(len(e.args)), uintptr(unsafe.Pointer(&e.args[0])))
		if err := check(int32(status)); err != nil {
			return fmt.Errorf("step %d: %w", e.step, err)
		}
	}
	return check(call(r.api.streamWait, r.stream))
}
