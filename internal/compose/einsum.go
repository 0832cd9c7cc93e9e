package compose

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

// An indexed is a value whose axes have labels.
type indexed struct {
	*graph.Value
	labels []rune
}

// Einsum is numpy's einsum: labels that the result does not have are summed over. "..." stands for axes that broadcast.
// Products of two operands that are summed are matrix products.
func (b *Builder) Einsum(equation string, in ...*graph.Value) *graph.Value {
	terms, want := b.parseEinsum(strings.ReplaceAll(equation, " ", ""), in)
	left := terms[0]
	for i, right := range terms[1:] {
		needed := slices.Clone(want)
		for _, t := range terms[i+2:] {
			needed = append(needed, t.labels...)
		}
		left = b.contract(b.sumOut(left, append(needed, right.labels...)), b.sumOut(right, append(needed, left.labels...)), needed)
	}
	left = b.sumOut(left, want)
	axes := make([]int, len(want))
	for i, l := range want {
		if axes[i] = slices.Index(left.labels, l); axes[i] < 0 {
			Fail("equation %q: no operand has the label %q of the result", equation, l)
		}
	}
	if len(axes) != len(left.labels) {
		Fail("equation %q: a label stands twice in the result", equation)
	}
	return b.Transpose(left.Value, axes...)
}

// parseEinsum labels the axes. Those of "..." get labels of their own, counted from the end; extents of 1 among them
// are dropped, so that they broadcast.
func (b *Builder) parseEinsum(equation string, in []*graph.Value) (terms []indexed, want []rune) {
	lhs, rhs, explicit := strings.Cut(equation, "->")
	parts := strings.Split(lhs, ",")
	if len(parts) != len(in) {
		Fail("equation %q has %s, not %d", equation, spelling.Count(len(parts), "operand"), len(in))
	}
	dots := 0
	for i, p := range parts {
		if strings.Contains(p, "...") {
			dots = max(dots, in[i].Type.Rank()-len(p)+3)
		}
	}
	extents := map[rune]int{}
	for i, p := range parts {
		labels := spelled(equation, p, in[i].Type.Rank()-len(p)+3)
		if len(labels) != in[i].Type.Rank() {
			Fail("equation %q: %q does not fit operand %s", equation, p, in[i].Type)
		}
		t := b.diagonals(indexed{in[i], labels})
		for k, l := range t.labels {
			n := t.Type.Shape[k]
			old, ok := extents[l]
			switch {
			case !ok || old == 1:
				extents[l] = n
			case old != n && n != 1:
				Fail("equation %q: %s has extents %d and %d", equation, labelText(l), old, n)
			}
		}
		terms = append(terms, t)
	}
	if explicit {
		want = spelled(equation, rhs, dots)
	} else {
		want = implicit(lhs, dots)
	}
	for i := range terms {
		terms[i] = b.broadcastLabels(terms[i], extents)
	}
	return terms, want
}

// labelText names a label in errors.
func labelText(l rune) string {
	if l < 0 {
		return `an axis of "..."`
	}
	return fmt.Sprintf("label %q", l)
}

// spelled lists the labels of a term whose "..." stands for n axes.
func spelled(equation, term string, n int) []rune {
	before, after, has := strings.Cut(term, "...")
	labels := []rune(before)
	if has {
		for k := n; k > 0; k-- {
			labels = append(labels, rune(-k))
		}
		labels = append(labels, []rune(after)...)
	}
	for _, l := range labels {
		if l >= 0 && (l < 'A' || l > 'Z') && (l < 'a' || l > 'z') {
			Fail("equation %q: %q is no label", equation, l)
		}
	}
	return labels
}

// implicit is the result without "->": the axes of "...", then the labels that stand once, in the order of letters.
func implicit(lhs string, dots int) []rune {
	var labels, once []rune
	for k := dots; k > 0; k-- {
		labels = append(labels, rune(-k))
	}
	for _, l := range lhs {
		if l != ',' && l != '.' && strings.Count(lhs, string(l)) == 1 {
			once = append(once, l)
		}
	}
	slices.Sort(once)
	return append(labels, once...)
}

// diagonals makes a label that stands twice one axis, the last: of both axes as one, every (n+1)-th element.
func (b *Builder) diagonals(x indexed) indexed {
	for k := 0; k < len(x.labels); k++ {
		j := slices.Index(x.labels[:k], x.labels[k])
		if j < 0 {
			continue
		}
		n := x.Type.Shape[k]
		if x.Type.Shape[j] != n {
			Fail("label %q has extents %d and %d", x.labels[k], x.Type.Shape[j], n)
		}
		var axes, shape []int
		var labels []rune
		for i, l := range x.labels {
			if i != j && i != k {
				axes, shape, labels = append(axes, i), append(shape, x.Type.Shape[i]), append(labels, l)
			}
		}
		y := b.Reshape(b.Transpose(x.Value, append(axes, j, k)...), append(shape, n*n)...)
		x = indexed{b.Every(y, len(shape), n+1), append(labels, x.labels[k])}
		k = -1
	}
	return x
}

// broadcastLabels repeats axes of extent 1 whose label has another extent elsewhere.
func (b *Builder) broadcastLabels(x indexed, extents map[rune]int) indexed {
	shape := slices.Clone(x.Type.Shape)
	for k, l := range x.labels {
		shape[k] = extents[l]
	}
	x.Value = b.BroadcastTo(x.Value, shape...)
	return x
}

// sumOut sums over the labels that nothing else needs.
func (b *Builder) sumOut(x indexed, needed []rune) indexed {
	var axes []int
	var kept []rune
	for k, l := range x.labels {
		if slices.Contains(needed, l) {
			kept = append(kept, l)
		} else {
			axes = append(axes, k)
		}
	}
	if len(axes) == 0 {
		return x
	}
	return indexed{b.Reduce(ops.Sum, x.Value, false, axes...), kept}
}

// contract multiplies x and y, summing over the labels of both that are not needed. Its products are those that exporters write by hand:
// axes of a batch stay apart, a value that has none keeps its rows, and weights are the second operand, so that what recognises dense layers and
// attention recognises those.
func (b *Builder) contract(x, y indexed, needed []rune) indexed {
	var batch, inner []rune
	for _, l := range x.labels {
		switch shared := slices.Contains(y.labels, l); {
		case shared && slices.Contains(needed, l):
			batch = append(batch, l)
		case shared:
			inner = append(inner, l)
		}
	}
	if len(batch) == 0 && x.IsConst() && !y.IsConst() {
		x, y = y, x
	}
	rows, columns := without(x.labels, y.labels), without(y.labels, x.labels)
	labels := slices.Concat(batch, rows, columns)
	if len(inner) == 0 {
		return indexed{b.Do(ops.Multiply, b.spread(x, labels), b.spread(y, labels)), labels}
	}
	left := [][]rune{rows, inner}
	if len(batch) == 0 && len(rows) > 0 {
		left = append(single(rows), inner)
	}
	p, pShape := b.grouped(x, append(single(batch), left...)...)
	q, qShape := b.grouped(y, append(single(batch), inner, columns)...)
	z := b.Matmul(p, q)
	shape := slices.Concat(pShape[:len(batch)+len(rows)], qShape[len(batch)+len(inner):])
	return indexed{b.Reshape(z, shape...), labels}
}

// without lists the labels that others lack.
func without(labels, others []rune) (list []rune) {
	for _, l := range labels {
		if !slices.Contains(others, l) {
			list = append(list, l)
		}
	}
	return list
}

// single makes a group of each label.
func single(labels []rune) (groups [][]rune) {
	for _, l := range labels {
		groups = append(groups, []rune{l})
	}
	return groups
}

// spread brings the axes of x into the order of labels, with an extent of 1 for those that it lacks.
func (b *Builder) spread(x indexed, labels []rune) *graph.Value {
	var groups [][]rune
	for _, l := range labels {
		if slices.Contains(x.labels, l) {
			groups = append(groups, []rune{l})
		} else {
			groups = append(groups, nil)
		}
	}
	y, _ := b.grouped(x, groups...)
	return y
}

// grouped joins the axes of each group of labels to one. shape has the axes before joining, in that order.
func (b *Builder) grouped(x indexed, groups ...[]rune) (y *graph.Value, shape []int) {
	axes := make([]int, 0, len(x.labels))
	joined := make([]int, len(groups))
	for g, labels := range groups {
		joined[g] = 1
		for _, l := range labels {
			k := slices.Index(x.labels, l)
			axes, shape = append(axes, k), append(shape, x.Type.Shape[k])
			joined[g] *= x.Type.Shape[k]
		}
	}
	return b.Reshape(b.Transpose(x.Value, axes...), joined...), shape
}

// Det is the determinant of the square matrices in the last two axes, by expansion along the first row.
func (b *Builder) Det(x *graph.Value) *graph.Value {
	rank := x.Type.Rank()
	n := x.Type.Shape[rank-1]
	if n == 1 {
		return b.Squeeze(b.Squeeze(x, rank-1), rank-2)
	}
	rest := b.Slice(x, rank-2, 1, n)
	var sum *graph.Value
	for j := range n {
		var columns []*graph.Value
		if j > 0 {
			columns = append(columns, b.Slice(rest, rank-1, 0, j))
		}
		if j < n-1 {
			columns = append(columns, b.Slice(rest, rank-1, j+1, n))
		}
		head := b.At(b.At(x, rank-2, 0), rank-2, j)
		term := b.Do(ops.Multiply, head, b.Det(b.Concat(rank-1, columns...)))
		switch {
		case sum == nil:
			sum = term
		case j%2 == 1:
			sum = b.Do(ops.Subtract, sum, term)
		default:
			sum = b.Do(ops.Add, sum, term)
		}
	}
	return sum
}
