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
	Progress   func(phase string, done, total int)
}

// LeastWeights are the weights from which on a layer takes the time of reading them.
const LeastWeights = 1 << 16

// WeightOnly quantises the weights of g's dense layers and matrix products, in blocks along the sum: they become nn.matmul_nbits. It changes g. Each
// block's range is clipped to that of the least squared error.
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
	r := rewrite.New(g)
	for i, l := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress("quantising", i, len(list))
		}
		row := LayerReport{Name: l.name(), Operator: l.node.Op.Name, Bits: 32, Why: l.why}
		if l.why == "" {
			row.Bits = o.Bits
			row.SQNR = o.layer(r, l)
		}
		res.Layers = append(res.Layers, row)
	}
	if err := r.Finish(); err != nil {
		return nil, err
	}
	if err := graph.Verify(g); err != nil {
		return nil, err
	}
	return res, nil
}

// layer quantises the weights of a layer, and returns how far they are from the quantised ones, in dB.
func (o WeightOnlyOptions) layer(r *rewrite.Rewriter, l *layer) float64 {
	n, w := l.node, l.weight
	if l.axis == 1 {
		w = w.Transpose()
	}
	b := quantiseBlocks(w, o)
	r.Before(n)
	name := n.In[1].Name
	in := []*graph.Value{n.In[0], graph.NewConst(name, b.weight), graph.NewConst(name+"_scale", b.scale)}
	if b.zero != nil {
		in = append(in, graph.NewConst(name+"_zero_point", b.zero))
	}
	r.Change(n, ops.MatmulNBits, ops.MatmulNBitsAttrs{BlockSize: o.Block}, in...)
	return b.sqnr
}

// blocks are the weights [N, K] of a layer as integers, with a scale, and perhaps a zero point, for each block along K.
type blocks struct {
	weight, scale, zero *tensor.Tensor
	sqnr                float64
}

// quantiseBlocks quantises a matrix of float32. Rows are independent, and goroutines share them.
func quantiseBlocks(w *tensor.Tensor, o WeightOnlyOptions) blocks {
	d := map[int]types.DType{4: types.I4, 8: types.I8}[o.Bits]
	if o.ZeroPoints {
		d = map[int]types.DType{4: types.U4, 8: types.U8}[o.Bits]
	}
	rows, depth := w.Shape[0], w.Shape[1]
	count := (depth + o.Block - 1) / o.Block
	numbers, scales, zeros := make([]int64, rows*depth), make([]float32, rows*count), make([]int64, rows*count)
	from := tensor.As[float32](w)
	signal, noise := make([]float64, rows), make([]float64, rows)
	overRows(rows, o.Workers, func(i int) {
		for k := range count {
			at := i*depth + k*o.Block
			part := from[at:min(at+o.Block, (i+1)*depth)]
			p := bestGrid(part, d, o.ZeroPoints)
			scales[i*count+k], zeros[i*count+k] = p.scale, int64(p.zero)
			for j, x := range part {
				q := p.number(x)
				numbers[at+j] = int64(q)
				e := float64(x) - float64(p.value(q))
				signal[i] += float64(x) * float64(x)
				noise[i] += e * e
			}
		}
	})
	b := blocks{weight: tensor.New(d, rows, depth), scale: tensor.Of([]int{rows, count}, scales)}
	for i, q := range numbers { // two share a byte
		b.weight.SetInt(i, q)
	}
	if o.ZeroPoints {
		b.zero = tensor.New(d, rows, count)
		for i, z := range zeros {
			b.zero.SetInt(i, z)
		}
	}
	var s, e float64
	for i := range signal {
		s, e = s+signal[i], e+noise[i]
	}
	b.sqnr = decibels(s, e)
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

// bestGrid is the grid of type d with the least squared error for a block, whose range is clipped to shares of it.
func bestGrid(block []float32, d types.DType, zeroPoints bool) grid {
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
		for _, x := range block {
			e := float64(x) - float64(g.value(g.number(x)))
			sum += e * e
		}
		if sum < least {
			best, least = g, sum
		}
	}
	return best
}
