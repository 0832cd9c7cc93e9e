package impl_test

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/ops"
	"lathe/internal/testkit/tetest"
)

// TestSlides: windows that overlap slide over the rows of a tile, those of plain data and of data with channels in blocks, on CPUs with 16 and
// 32 registers; the kernels compute what they did. Windows that lie apart share nothing.
func TestSlides(t *testing.T) {
	samples := uint64(60)
	if testing.Short() {
		samples = 15
	}
	apart := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 29))
		cpu := machines[r.IntN(len(machines))]
		lanes := cpu.VectorBits / 32
		taps, stride, border := []int{2 + r.IntN(2), 2 + r.IntN(2)}, 1+r.IntN(3), r.IntN(2)
		attrs := ops.PoolAttrs{PoolSize: taps, Strides: []int{stride, stride}, Padding: []int{border, border, border, border}, Dilation: []int{1, 1}}
		data, along := f32("", 1, 1+r.IntN(3), stride*(6+r.IntN(20)), stride*(lanes+r.IntN(30))), 0 // the rows of a tile are lines
		if r.IntN(2) == 0 {
			data, along = f32(blocked(lanes), 1, lanes, 3+r.IntN(6), stride*(6+r.IntN(40))), 1 // or pixels of a line
		}
		c := tetest.Of(r, "pool", relu(of(t, ops.MaxPool2d, attrs, data.Layout, data)))
		k := c.Lower()
		plan, err := algorithms.Table.Choose(k, cpu, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if plan.Rule != "tile" {
			t.Fatalf("seed %d: rule %s", seed, plan.Rule)
		}
		want := "on"
		if stride >= taps[along] {
			want, apart = "", apart+1
		}
		if got := plan.Taken["slide"]; got != want {
			t.Errorf("seed %d: slide %q of windows of %v by %d over %s\n%s", seed, got, taps, stride, data, plan.Schedule)
		}
		if err := c.Check(k, plan.Schedule.Func, 1); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, plan.Schedule.Func)
		}
	}
	if apart == 0 || apart == int(samples) {
		t.Errorf("windows lie apart in %d of %d samples", apart, samples)
	}
}
