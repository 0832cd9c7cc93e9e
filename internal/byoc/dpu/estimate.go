package dpu

// efficiency is the share of the peak that layers reach beyond what cycles and bytes count: instruction fetch, starts of
// layers, halos. It is fitted, once for all configurations, to the three networks that PG338 gives pictures per second of.
const efficiency = 0.57

// An Estimate is about what one core needs for one picture.
type Estimate struct {
	Cycles int64 // of its engines
	Bytes  int64 // to and from memory: weights once, maps that leave the chip
	Ops    int64 // two for a multiply-add
}

// Estimate sums up the layers' cycles: a convolution's are oh ⌈ow/PP⌉ kh kw ⌈ic/CP⌉ ⌈oc/CP⌉.
func (n *Network) Estimate() Estimate {
	var e Estimate
	for i := range n.Layers {
		l := &n.Layers[i]
		out := n.Tensors[l.To].Shape
		e.Cycles += n.Arch.cycles(l, out)
		e.Ops += l.ops(out)
		e.Bytes += int64(len(l.Weights)+len(l.Bias)) + n.moved(l.To)
		for _, t := range l.From {
			e.Bytes += n.moved(t)
		}
	}
	return e
}

// bankDepth is the number of words of a bank of maps.
const bankDepth = 2048

// moved is how many bytes of a map cross the memory each time it is written or read: none where a group of banks holds it.
func (n *Network) moved(t int) int64 {
	s := n.Tensors[t].Shape
	if size := int64(s[1]) * int64(s[2]) * int64(s[3]); size > int64(n.Arch.PixelParallel*n.Arch.ChannelParallel*bankDepth) {
		return size
	}
	return 0
}

// cycles is what a layer of a result [N, C, H, W] takes for one picture.
func (a *Arch) cycles(l *Layer, out [4]int) int64 {
	taps := l.Kernel[0] * l.Kernel[1]
	if l.Kind == Conv {
		columns := l.Kernel[1] * ceil(l.InChannels, a.ChannelParallel)
		if a.Augmented { // taps of a row fill the lanes of few channels
			columns = min(columns, ceil(l.Kernel[1]*l.InChannels, a.ChannelParallel))
		}
		return int64(out[2]*ceil(out[3], a.PixelParallel)) * int64(l.Kernel[0]*columns*ceil(l.OutChannels, a.ChannelParallel))
	}
	return int64(out[2]*ceil(out[3], a.ALUPixels)) * int64(max(taps, len(l.From))*ceil(out[1], a.ChannelParallel))
}

func (l *Layer) ops(out [4]int) int64 {
	if !l.hasWeights() {
		return 0
	}
	return 2 * int64(out[2]*out[3]) * int64(len(l.Weights))
}

// PerSecond is how many pictures all cores compute in a second: as fast as cycles allow and the memory that they share.
func (e Estimate) PerSecond(a *Arch) float64 {
	byCycles := float64(a.Cores) * float64(a.MHz) * 1e6 / float64(max(e.Cycles, 1))
	byBytes := a.DDR / float64(max(e.Bytes, 1))
	return efficiency * min(byCycles, byBytes)
}
