package quant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
	"lathe/internal/quant/calibrate"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// WeightOnlyOptions say which weights become integers of few bits. What layers read and compute stays float.
type WeightOnlyOptions struct {
	Target     *target.Target
	Workers    int  // goroutines; the result does not depend on it
	Bits       int  // of a weight, 4 or 8
	Block      int  // weights along a sum that share a scale: a power of two from 16 on
	ZeroPoints bool // blocks have zero points: ranges need not be symmetric
	Least      int  // weights of a layer that is taken; 0: LeastWeights
	// GPTQ rounds weights so that results change little, by what Samples show of the data that they are multiplied with. Build compiles what tells.
	GPTQ     bool
	Samples  calibrate.Samples
	Build    Builder
	Progress func(phase string, done, total int)
	Notes    func(string)
}

// LeastWeights are the weights from which on a layer takes the time of reading them.
const LeastWeights = 1 << 16

// WeightOnly quantises the weights of g's dense layers and matrix products, in blocks along the sum: they become nn.matmul_nbits. It changes g. Each
// block's range is clipped to that of the least squared error. The ratio of a layer in the report is that of its weights, or with GPTQ that of its results.
func WeightOnly(ctx context.Context, g *graph.Graph, o WeightOnlyOptions) (*Result, error) {
	switch {
	case o.Bits != 4 && o.Bits != 8:
		return nil, fmt.Errorf("weights of %d bits: there are 4 and 8", o.Bits)
	case o.Block < 16 || o.Block&(o.Block-1) != 0:
		return nil, fmt.Errorf("blocks of %d weights: a power of two from 16 on is wanted", o.Block)
	}
	if o.Least == 0 {
		o.Least = LeastWeights
	}
	if err := simplify(ctx, g, o.Target, o.Workers, "FoldConstant", "SimplifyExpr"); err != nil {
		return nil, err
	}
	res := &Result{Graph: g}
	list := layers(g)
	taken := 0
	for _, l := range list {
		switch n := l.node.In[1].Type.Elements(); {
		case isConv(l.node):
			l.why = "it is a convolution"
		case l.why == "" && n < o.Least:
			l.why = fmt.Sprintf("it has %d weights, less than %d", n, o.Least)
		}
		if l.why == "" {
			taken++
		}
	}
	if taken == 0 {
		return nil, errors.New("the network has no dense layer or matrix product with as many constant weights: see --least-weights")
	}
	done := 0
	quantised := map[*layer]blocks{}
	take := func(l *layer, factor []float64) {
		if o.Progress != nil {
			o.Progress("quantising", done, taken)
		}
		done++
		quantised[l] = o.quantise(l, factor)
	}
	if o.GPTQ {
		if o.Samples == nil || o.Samples.Len() == 0 {
			return nil, errors.New("there are no samples to calibrate with")
		}
		if err := o.byData(ctx, g, list, take); err != nil {
			return nil, err
		}
	}
	r := rewrite.New(g)
	for _, l := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := LayerReport{Name: l.name(), Operator: l.node.Op.Name, Bits: 32, Why: l.why}
		if l.why == "" {
			if !o.GPTQ {
				take(l, nil)
			}
			b := quantised[l]
			delete(quantised, l)
			row.Bits, row.SQNR = o.Bits, b.sqnr
			o.become(r, l, b)
		}
		res.Layers = append(res.Layers, row)
	}
	if o.GPTQ {
		res.Samples = o.Samples.Len()
	}
	if err := r.Finish(); err != nil {
		return nil, err
	}
	if err := graph.Verify(g); err != nil {
		return nil, err
	}
	return res, nil
}

// become replaces a layer's product by one with the quantised weights.
func (o WeightOnlyOptions) become(r *rewrite.Rewriter, l *layer, b blocks) {
	n := l.node
	r.Before(n)
	name := n.In[1].Name
	in := []*graph.Value{n.In[0], graph.NewConst(name, b.weight), graph.NewConst(name+"_scale", b.scale)}
	if b.zero != nil {
		in = append(in, graph.NewConst(name+"_zero_point", b.zero))
	}
	r.Change(n, ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: o.Block}, in...)
}

// blocks are the weights [N, K] of a layer as integers, with a scale, and perhaps a zero point, for each block along K.
type blocks struct {
	weight, scale, zero *tensor.Tensor
	sqnr                float64
}

// quantise quantises the weights of a layer. Of factor, which may be nil, see gptqRows. Rows are independent, and goroutines share them.
func (o WeightOnlyOptions) quantise(l *layer, factor []float64) blocks {
	w := l.weight
	if l.axis == 1 {
		w = w.Transpose()
	}
	d := map[int]types.DType{4: types.I4, 8: types.I8}[o.Bits]
	if o.ZeroPoints {
		d = map[int]types.DType{4: types.U4, 8: types.U8}[o.Bits]
	}
	count, depth := w.Shape[0], w.Shape[1]
	from, rows := tensor.As[float32](w), make([]quantisedRow, count)
	overRows((count+together-1)/together, o.Workers, func(group int) {
		var some [][]float32
		for i := group * together; i < min((group+1)*together, count); i++ {
			some = append(some, from[i*depth:][:depth])
		}
		if factor != nil {
			copy(rows[group*together:], o.gptqRows(some, d, factor))
			return
		}
		for i, row := range some {
			rows[group*together+i] = o.nearestRow(row, d)
		}
	})
	per := (depth + o.Block - 1) / o.Block
	b := blocks{weight: tensor.New(d, count, depth), scale: tensor.New(types.F32, count, per)}
	if o.ZeroPoints {
		b.zero = tensor.New(d, count, per)
	}
	var signal, noise float64
	for i, q := range rows {
		for k, n := range q.numbers { // two share a byte
			b.weight.SetInt(i*depth+k, n)
		}
		for k, p := range q.grids {
			b.scale.SetFloat(i*per+k, float64(p.scale))
			if o.ZeroPoints {
				b.zero.SetInt(i*per+k, int64(p.zero))
			}
		}
		signal, noise = signal+q.signal, noise+q.noise
	}
	b.sqnr = decibels(signal, noise)
	return b
}

// overRows calls f for every row, in goroutines that take the next one each.
func overRows(rows, workers int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(max(workers, 1), rows) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < rows; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}

// decibels is a ratio of signal to noise; what has no noise has most.
func decibels(signal, noise float64) float64 {
	if noise == 0 {
		return mostDecibels
	}
	return math.Min(10*math.Log10(signal/noise), mostDecibels)
}

// mostDecibels is what a signal without noise is said to have: beyond what float32 holds.
const mostDecibels = 200

// A grid is the numbers scale (q - zero), of q from low to high.
type grid struct {
	scale           float32
	zero, low, high float32
}

func (g grid) number(x float32) float32 {
	q := float32(math.RoundToEven(float64(x/g.scale))) + g.zero
	return min(max(q, g.low), g.high)
}

func (g grid) value(q float32) float32 { return g.scale * (q - g.zero) }

// shrinks are the shares of a block's range that are tried: what is beyond is clipped, and the rest is finer.
const (
	shrinks     = 20
	leastShrink = 0.6
)

// bestGrid is the grid of type d with the least squared error for a block, whose range is clipped to shares of it. Errors weigh by weights; nil: alike.
func bestGrid(block []float32, weights []float64, d types.DType, zeroPoints bool) grid {
	lo, hi := d.IntRange()
	low, high := float32(0), float32(0)
	for _, x := range block {
		low, high = min(low, x), max(high, x)
	}
	best, least := grid{scale: 1, low: float32(lo), high: float32(hi)}, math.Inf(1)
	if low == 0 && high == 0 {
		return best
	}
	for i := range shrinks {
		share := float32(1 - (1-leastShrink)*float64(i)/shrinks)
		g := grid{low: float32(lo), high: float32(hi)}
		if zeroPoints {
			g.scale = share * (high - low) / float32(hi-lo)
			g.zero = min(max(float32(math.RoundToEven(float64(-share*low/g.scale))), g.low), g.high)
		} else {
			g.scale = share * max(high, -low) / float32(hi)
		}
		if !(g.scale > 0x1p-100) {
			continue
		}
		sum := 0.0
		for k, x := range block {
			e := float64(x) - float64(g.value(g.number(x)))
			if e *= e; weights != nil {
				e *= weights[k]
			}
			sum += e
		}
		if sum < least {
			best, least = g, sum
		}
	}
	return best
}
