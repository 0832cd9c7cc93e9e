package quant

import (
	"context"
	"fmt"
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Weights that are rounded one by one to nearest have the least error by themselves. What a layer's results lose by an error e of a row of weights is
// e'He, where H = X'X of the data X that samples show, and there errors of weights whose data go together add up, or can cancel. GPTQ (Frantar et
// al., 2022) rounds a row's weights in their order, and changes those behind by what makes up for the errors so far. With H = L'L, L
// lower triangular, e'He is the sum of squares of Le, whose number j depends on e up to j only:
//
//	(Le)_j = L_jj (v_j - q_j)   where   v_j = w_j + (sum over k < j of L_jk e_k) / L_jj
//
// so that the best q_j, all before it being chosen, is v_j rounded. That needs no inverse of H, and gives what GPTQ's does (Chen et al., The geometry of LLM
// quantization, 2025).

// damping is the share of the mean of H's diagonal that is added to it: what samples do not show keeps weights near what they are.
const damping = 0.01

// mostGrams bounds the bytes of the H that are gathered in one pass over the samples.
const mostGrams = 1 << 29

// A gram is H of the data that some layers read.
type gram struct {
	value  *graph.Value
	layers []*layer
	depth  int
	sums   []float64 // depth by depth; in the end L, or nil where all data are zeros
}

// grams lists what the layers that are quantised read.
func grams(list []*layer) []*gram {
	var all []*gram
	at := map[*graph.Value]*gram{}
	for _, l := range list {
		if l.why != "" {
			continue
		}
		x := l.node.In[0]
		if at[x] == nil {
			at[x] = &gram{value: x, depth: x.Type.Shape[len(x.Type.Shape)-1]}
			all = append(all, at[x])
		}
		at[x].layers = append(at[x].layers, l)
	}
	return all
}

// byData calls f with the layers of list that are quantised and the L of what they read, in as few passes over the samples as memory allows.
func (o WeightOnlyOptions) byData(ctx context.Context, g *graph.Graph, list []*layer, f func(l *layer, factor []float64)) error {
	for rest := grams(list); len(rest) > 0; {
		n, bytes := 0, 0
		for n < len(rest) && (n == 0 || bytes+8*rest[n].depth*rest[n].depth <= mostGrams) {
			bytes += 8 * rest[n].depth * rest[n].depth
			n++
		}
		if err := o.gather(ctx, g, rest[:n]); err != nil {
			return err
		}
		for _, m := range rest[:n] {
			if err := ctx.Err(); err != nil {
				return err
			}
			if m.sums = factorised(m.sums, m.depth, o.Workers); m.sums == nil && o.Notes != nil {
				o.Notes(fmt.Sprintf("value %q is 0 in all samples: the weights that read it are rounded to nearest", m.value.Name))
			}
			for _, l := range m.layers {
				f(l, m.sums)
			}
			m.sums = nil
		}
		rest = rest[n:]
	}
	return nil
}

// gather runs the samples through the network and sums up X'X of values. Products of one sample are float32, in the order of the kernel's sums, which no
// number of workers changes; those of all are summed in float64, in the order of the samples.
func (o WeightOnlyOptions) gather(ctx context.Context, g *graph.Graph, list []*gram) error {
	to := map[*graph.Value]*graph.Value{}
	c := cloned(g, to)
	c.Outputs = nil
	r := rewrite.New(c)
	r.AtEnd()
	for i, m := range list {
		x := to[m.value]
		flat := r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{x.Type.Elements() / max(1, m.depth), m.depth}}, x)
		y := r.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: true}, flat, flat)
		y.Name = fmt.Sprintf("products of data %d", i)
		c.Outputs = append(c.Outputs, y)
		m.sums = make([]float64, m.depth*m.depth)
	}
	if err := r.Finish(); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if o.Progress != nil {
		o.Progress("compiling the calibration", 0, 0)
	}
	e, err := o.Build(ctx, c)
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	defer e.Close()
	run := sampleRunner{e, len(g.Inputs)}
	for i := range o.Samples.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress("calibrating", i+1, o.Samples.Len())
		}
		in, err := o.Samples.At(i)
		if err != nil {
			return err
		}
		results, err := run.Run(in)
		if err != nil {
			return err
		}
		for k, m := range list {
			numbers := tensor.As[float32](results[k])
			overRows(m.depth, o.Workers, func(row int) {
				to := m.sums[row*m.depth:][:m.depth]
				for j, x := range numbers[row*m.depth:][:m.depth] {
					to[j] += float64(x)
				}
			})
		}
	}
	for _, m := range list {
		if slices.ContainsFunc(m.sums, func(x float64) bool { return x-x != 0 }) {
			return fmt.Errorf("value %q: numbers of the samples are infinite, no numbers, or too large to multiply (look at the samples and how they become inputs)", m.value.Name)
		}
	}
	return nil
}

// factorised is the lower triangular L with L'L = h and a little more on its diagonal, in the place of h, which is symmetric; what is above its diagonal
// counts no more. It is nil where h is 0.
func factorised(h []float64, n, workers int) []float64 {
	diagonal, trace := make([]float64, n), 0.0
	for i := range diagonal {
		diagonal[i] = h[(n-1-i)*n+n-1-i]
		trace += diagonal[i]
	}
	if trace <= 0 {
		return nil
	}
	// L'L begins with the last row. Turned round, h is CC' with C lower triangular; C turned round is L', and h is read above its diagonal while C is made below it.
	for more := damping * trace / float64(n); ; more *= 10 {
		for i := range n {
			h[i*n+i] = diagonal[i] + more
			for j := range i {
				h[i*n+j] = h[(n-1-i)*n+n-1-j]
			}
		}
		if cholesky(h, n, workers) {
			break
		}
	}
	for j := range n {
		for k := 0; k <= j && k < n-1-j; k++ {
			a, b := j*n+k, (n-1-k)*n+n-1-j
			h[a], h[b] = h[b], h[a]
		}
	}
	return h
}

// panel is the number of columns of a factor that are made at a time: their rows stay in caches.
const panel = 48

// cholesky makes the lower triangle of a symmetric matrix that of its factor, and reports whether the matrix is positive definite. Rows of a panel are
// independent, and goroutines share them.
func cholesky(c []float64, n, workers int) bool {
	for from := 0; from < n; from += panel {
		to := min(from+panel, n)
		finish := func(i int) {
			row := c[i*n : (i+1)*n]
			for j := from; j < min(to, i); j++ {
				row[j] = (row[j] - dot(row[:j], c[j*n:])) / c[j*n+j]
			}
		}
		for i := from; i < to; i++ {
			finish(i)
			d := c[i*n+i] - dot(c[i*n:i*n+i], c[i*n:])
			if !(d > 0) {
				return false
			}
			c[i*n+i] = math.Sqrt(d)
		}
		overRows((n-to+2)/3, workers, func(k int) {
			i := to + 3*k
			if i+3 > n {
				for ; i < n; i++ {
					finish(i)
				}
				return
			}
			r0, r1, r2 := c[i*n:][:n], c[(i+1)*n:][:n], c[(i+2)*n:][:n]
			for j := from; j < to; j++ {
				s0, s1, s2 := dots(c[j*n:][:j], r0, r1, r2)
				d := c[j*n+j]
				r0[j], r1[j], r2[j] = (r0[j]-s0)/d, (r1[j]-s1)/d, (r2[j]-s2)/d
			}
		})
	}
	return true
}

// dot is the sum of the products of a's numbers and those that b begins with, in one order.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// dots are the dot products of a with three others, for which a is read once.
func dots(a, x, y, z []float64) (float64, float64, float64) {
	x, y, z = x[:len(a)], y[:len(a)], z[:len(a)]
	var x0, x1, y0, y1, z0, z1 float64
	i := 0
	for ; i+1 < len(a); i += 2 {
		p, q := a[i], a[i+1]
		x0 += p * x[i]
		x1 += q * x[i+1]
		y0 += p * y[i]
		y1 += q * y[i+1]
		z0 += p * z[i]
		z1 += q * z[i+1]
	}
	if i < len(a) {
		x0 += a[i] * x[i]
		y0 += a[i] * y[i]
		z0 += a[i] * z[i]
	}
	return x0 + x1, y0 + y1, z0 + z1
}

// quantisedRow are the integers of a row of weights, and what a layer's results lose by them.
type quantisedRow struct {
	numbers       []int64
	grids         []grid  // of its blocks
	signal, noise float64 // of the weights, or of what they give with data
}

// nearestRow rounds each weight by itself.
func (o WeightOnlyOptions) nearestRow(w []float32, d types.DType) quantisedRow {
	q := quantisedRow{numbers: make([]int64, 0, len(w))}
	for at := 0; at < len(w); at += o.Block {
		block := w[at:min(at+o.Block, len(w))]
		p := bestGrid(block, nil, d, o.ZeroPoints)
		q.grids = append(q.grids, p)
		for _, x := range block {
			n := p.number(x)
			q.numbers = append(q.numbers, int64(n))
			e := float64(x) - float64(p.value(n))
			q.signal += float64(x) * float64(x)
			q.noise += e * e
		}
	}
	return q
}

// together is the number of rows that goroutines take at a time: a block's part of L is read once for them, which large ones are from memory.
const together = 8

// gptqRows rounds rows of weights so that results change little, of data whose L is given: as nearestRow does where that is better after all.
func (o WeightOnlyOptions) gptqRows(rows [][]float32, d types.DType, factor []float64) []quantisedRow {
	list := make([]*gptqRow, len(rows))
	for i, w := range rows {
		list[i] = o.gptqRow(w, d)
	}
	for from := 0; from < len(rows[0]); from += o.Block {
		for _, r := range list {
			r.block(o, factor, from)
		}
	}
	var all []quantisedRow
	for _, r := range list {
		q := r.quantisedRow
		if q.signal = r.near.signal; r.near.noise <= q.noise {
			q = r.near
		}
		all = append(all, q)
	}
	return all
}

// A gptqRow is a row of weights on its way.
type gptqRow struct {
	quantisedRow // of the blocks that are done
	dtype        types.DType
	near         quantisedRow
	exact        []float64
	off          []float64 // errors of near
	left         []float64 // e
}

func (o WeightOnlyOptions) gptqRow(w []float32, d types.DType) *gptqRow {
	depth := len(w)
	r := &gptqRow{dtype: d, near: o.nearestRow(w, d), exact: make([]float64, depth), off: make([]float64, depth), left: make([]float64, depth)}
	for i, x := range w {
		r.exact[i] = float64(x)
		r.off[i] = float64(x) - float64(r.near.grids[i/o.Block].value(float32(r.near.numbers[i])))
	}
	r.near.signal, r.near.noise = 0, 0
	return r
}

// block rounds the weights of one block.
func (r *gptqRow) block(o WeightOnlyOptions, factor []float64, from int) {
	depth := len(r.exact)
	to := min(from+o.Block, depth)
	base, aim, weigh := make([]float64, to-from), make([]float32, to-from), make([]float64, to-from)
	// value is what weight j would be at best.
	value := func(j int, l []float64) float64 {
		return r.exact[j] + (base[j-from]+dot(r.left[from:j], l[from:]))/l[j]
	}
	for j := from; j < to; j++ { // the grid is that of what the weights would be if none of them were rounded
		l := factor[j*depth:][:depth]
		b, s, n := dots(l[:from], r.left, r.exact, r.off)
		base[j-from] = b
		v := value(j, l)
		r.left[j] = r.exact[j] - v
		aim[j-from], weigh[j-from] = float32(v), l[j]*l[j]
		s, n = s+dot(r.exact[from:j+1], l[from:]), n+dot(r.off[from:j+1], l[from:])
		r.near.signal += s * s
		r.near.noise += n * n
	}
	p := bestGrid(aim, weigh, r.dtype, o.ZeroPoints)
	r.grids = append(r.grids, p)
	for j := from; j < to; j++ {
		l := factor[j*depth:][:depth]
		v := value(j, l)
		n := p.number(float32(v))
		r.numbers = append(r.numbers, int64(n))
		r.left[j] = r.exact[j] - float64(p.value(n))
		e := l[j] * (v - float64(p.value(n)))
		r.noise += e * e
	}
}
