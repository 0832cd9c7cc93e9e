package winograd

import (
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// TestDefault: large maps are computed by blocks of tiles, by large ones where these save more than their transforms and weights take; small maps by two kernels; few
// channels, odd channels and narrow vectors as they are.
func TestDefault(t *testing.T) {
	t512 := &target.Target{VectorBits: 512, VectorRegs: 32, L1: 48 << 10, L2: 1 << 20, L3: 4 << 20, Core: target.ClassOf(target.X86, 512)}
	for _, c := range []struct {
		in, out, size int
		want          *variant
	}{
		{64, 64, 224, &variant{6, true}},
		{128, 128, 56, &variant{6, false}},
		{64, 64, 56, &variant{4, true}},
		{512, 512, 28, &variant{6, false}},
		{256, 256, 14, &variant{4, false}},
		{512, 512, 7, &variant{2, false}},
		{64, 20, 56, nil},
		{3, 64, 224, nil},
	} {
		got, why := defaultOf(t, c.in, c.out, c.size, t512)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want || why == "" {
			t.Errorf("%d to %d channels of %d: %v, want %v (%s)", c.in, c.out, c.size, got, c.want, why)
		}
	}
	narrow := &target.Target{VectorBits: 64, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20, Core: target.ClassOf(target.X86, 64)}
	if got, _ := defaultOf(t, 64, 64, 56, narrow); got != nil {
		t.Errorf("vectors of two: %v", got)
	}
}

// TestSlowMemory: the slower memory is, the smaller are the transformed weights that are read from it, down to those of the definition.
func TestSlowMemory(t *testing.T) {
	for _, c := range []struct {
		channels, size, memory int
		want                   *variant
	}{
		{512, 7, 100_000, &variant{4, false}},
		{512, 7, 30_000, &variant{2, false}},
		{512, 7, 10_000, nil},
		{256, 14, 30_000, &variant{4, false}},
		{256, 14, 10_000, &variant{2, false}},
		{256, 14, 2_000, nil},
		{64, 56, 10_000, &variant{4, true}}, // weights of little, and many products of each
	} {
		core := target.ClassOf(target.X86, 512)
		core.Clock, core.Memory = 3000, c.memory
		tgt := &target.Target{VectorBits: 512, VectorRegs: 32, L1: 48 << 10, L2: 2 << 20, L3: 4 << 20, Core: core}
		got, why := defaultOf(t, c.channels, c.channels, c.size, tgt)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%d channels of %d, memory of %d MB/s: %v, want %v (%s)", c.channels, c.size, c.memory, got, c.want, why)
		}
	}
}

// defaultOf decides for a convolution by default; nil: by its definition.
func defaultOf(t *testing.T, in, out, size int, tgt *target.Target) (v *variant, why string) {
	t.Helper()
	n := &impl.Node{
		Op: ops.Conv2d, Attrs: ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}, Lanes: tgt.Lanes(32),
		In: []types.Tensor{types.Of(types.F32, 1, in, size, size), types.Of(types.F32, out, in, 3, 3)}, Out: types.Of(types.F32, 1, out, size, size),
		Const: func(i int) bool { return i == 1 },
	}
	log := &choice.Log{}
	name, why, err := impl.Algorithms{Algorithm}.Decide(n, tgt, log)
	if err != nil {
		t.Fatal(err)
	}
	if name != Name {
		return nil, why
	}
	got := variantOf(log.Taken)
	return &got, why
}

// TestRegisterTiles: tiles of products fit the registers and divide the vectors.
func TestRegisterTiles(t *testing.T) {
	for _, regs := range []int{16, 32} {
		c := impl.Core{Target: &target.Target{VectorBits: 512, VectorRegs: regs, L1: 48 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 512)}}
		for size := 1; size < 30; size++ {
			for vecs := 1; vecs <= 12; vecs++ {
				for _, fused := range []bool{false, true} {
					v := variant{4, fused}
					conv := square(64, 16*vecs, size)
					w := conv.matrices(v)
					list, best := conv.registerTiles(v, w, c)
					got := list[best]
					if got.Rows < 1 || got.Rows > conv.tiles(w) || vecs%got.Vecs != 0 || got.Rows*got.Vecs+got.Vecs+1 > regs {
						t.Errorf("size %d, %d vectors, %d registers: %s", size, vecs, regs, got)
					}
				}
			}
		}
	}
}

// square is a convolution of 3x3 of maps of a size.
func square(in, out, size int) shape {
	return shape{Images: 1, In: in, Out: out, Height: size, Width: size, Kernel: []int{3, 3}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Type: types.F32}
}

// TestDeepTiles: weights of many channels, which come from the second level cache for every group of tiles, are read for more of them at a time, and data
// for more than one vector of channels.
func TestDeepTiles(t *testing.T) {
	c := impl.Core{Target: &target.Target{VectorBits: 512, VectorRegs: 32, L1: 48 << 10, L2: 2 << 20, L3: 64 << 20, Core: target.ClassOf(target.X86, 512)}}
	v := variant{4, false}
	for size := 28; size < 64; size++ {
		conv := square(512, 512, size)
		list, best := conv.registerTiles(v, conv.matrices(v), c)
		if got := list[best]; got.Rows < 8 || got.Vecs < 2 {
			t.Errorf("maps of %d: %s", size, got)
		}
	}
}

// TestUnrolled: sums that are too few to hide how long each takes are added without a loop, whatever vectors and latencies are.
func TestUnrolled(t *testing.T) {
	for _, bits := range []int{128, 256, 512} {
		tgt := &target.Target{VectorBits: bits, VectorRegs: 32, Core: target.ClassOf(target.X86, bits)}
		steps := tgt.Lanes(32)
		for sums := 1; sums <= 24; sums++ {
			got := unrolled(steps, sums, tgt)
			if sums <= tgt.Units*tgt.Latency && got != steps || steps%got != 0 || got*sums > max(96, 4*sums) && sums > tgt.Units*tgt.Latency {
				t.Errorf("%d bits, %d sums: %d of %d steps", bits, sums, got, steps)
			}
		}
	}
}
