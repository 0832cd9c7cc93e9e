package impl_test

import (
	"fmt"
	"testing"

	"lathe/internal/impl"
	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestOwnData: where it takes long to write again what others have read, workers read what they wrote themselves, be the shares uneven for that
// and the last piece not whole.
func TestOwnData(t *testing.T) {
	slow := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -reclaim-rate=1")
	n := slow.Lanes(32)
	for _, c := range [][]int{{64, 64, 56}, {96, 384, 56}, {384, 96, 14}, {960, 160, 7}, {48, 192, 13}} {
		in, out, size := c[0], c[1], c[2]
		weight := f32(types.Layout(fmt.Sprintf("ABCD%da", 2*n)), out, in, 1, 1)
		s := inPanels(2, of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32(blocked(n), 1, in, size, size), weight))
		home := size * size * n // lines of each block of channels
		operands := []impl.Operand{{Bytes: 4 * in * size * size, Home: home}, {Bytes: 4 * in * out, Constant: true}}
		plan, err := algorithms.Table.Choose(lower.Lower("conv", s, lower.Options{}), slow, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Divide(slow, operands, nil); err != nil {
			t.Fatal(err)
		}
		if d := plan.Divisions[0]; d.Periods[0] < home || d.Periods[0] > home*5/4 { // the last piece may have some more
			t.Errorf("%v: divided by %v: data is read by periods of %d, and was written by those of %d", c, d, d.Periods[0], home)
		}
	}
}

// TestTouched: what is looked up counts, and not all that it is looked up in.
func TestTouched(t *testing.T) {
	m := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
	s := of(t, ops.Take, ops.TakeAttrs{}, "", f32("", 5000, 64), types.Of(types.I64, 16))
	plan, err := algorithms.Table.Choose(lower.Lower("take", s, lower.Options{}), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Divisions) == 0 {
		t.Fatal("no divisions")
	}
	for _, d := range plan.Divisions {
		if d.Touched[0] != 16*64*4 || d.Touched[1] != 16*8 {
			t.Errorf("%v: touches %d bytes", d, d.Touched)
		}
	}
}

// TestOwnLoopsInChunks: loops of its own that take long are cut into chunks for each worker like scheduled ones, for cores are not equal; those of a
// few microseconds are not.
func TestOwnLoopsInChunks(t *testing.T) {
	m := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -num-cores=2")
	lanes := m.Lanes(32)
	for channels, cut := range map[int]bool{lanes: false, 512: true} {
		attrs := ops.WinogradInputAttrs{TileSize: 6, KernelSize: []int{3, 3}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: []int{1, 1, 1, 1}}
		in := f32(types.ChannelBlocks(4, lanes), 1, channels, 56, 56)
		out := f32(types.Layout(fmt.Sprintf("CBA4c%db", lanes)), 64, channels, 100)
		plan, err := algorithms.Table.Extern(ops.WinogradInput, impl.Call{Attrs: attrs, In: []types.Tensor{in}, Out: []types.Tensor{out}, Target: m}, nil)
		if err != nil || plan == nil {
			t.Fatal(plan, err)
		}
		if _, err := plan.Divide(m, nil, nil); err != nil {
			t.Fatal(err)
		}
		if plan.Chunks < 1 || plan.Chunks > 1 != cut {
			t.Errorf("%d channels: %d chunks for each worker", channels, plan.Chunks)
		}
	}
}
