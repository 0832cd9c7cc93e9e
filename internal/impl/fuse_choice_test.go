package impl_test

import (
	"testing"

	"lathe/internal/impl"
	"lathe/internal/types"
)

// TestFuseDecision: what is read once is computed where it is read, whatever it costs. What is read often has a kernel of its own where it costs more than to
// write and read it, unless one element serves a line; and where what lies together is little beside a vector.
func TestFuseDecision(t *testing.T) {
	base := impl.Repeated{Elements: 1 << 16, DType: types.F32, Work: 40, Reads: 1 << 16}
	with := func(f func(*impl.Repeated)) impl.Repeated {
		o := base
		f(&o)
		return o
	}
	for _, c := range []struct {
		name    string
		operand impl.Repeated
		want    string
	}{
		{"read once", base, "on"},
		{"read by 64 rows", with(func(o *impl.Repeated) { o.Reads *= 64 }), "off"},
		{"an addition that 4 rows read", with(func(o *impl.Repeated) { o.Reads *= 4; o.Work = 1 }), "on"},
		{"one for a line, of a few", with(func(o *impl.Repeated) { o.Elements, o.Reads, o.Single = 64, 64, true }), "on"},
		{"one for a line, of many, which fill vectors apart", with(func(o *impl.Repeated) { o.Single = true }), "off"},
		{"pieces of a vector", with(func(o *impl.Repeated) { o.Together = 16 }), "on"},
		{"pieces of three", with(func(o *impl.Repeated) { o.Together = 3 }), "off"},
		{"few elements, read twice", with(func(o *impl.Repeated) { o.Elements, o.Reads = 16, 32 }), "on"},
		{"doubles read by 64 rows", with(func(o *impl.Repeated) { o.DType = types.F64; o.Reads *= 64 }), "off"},
		{"halves, a vector of what they are computed in", with(func(o *impl.Repeated) { o.DType = types.F16; o.Together = 16 }), "on"},
	} {
		d := impl.FuseDecision(machines[0], c.operand)
		if got := d.Values[d.Default].Text; got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, d.Values)
		}
	}
}

// TestFuseDecisionCountsLanes: a vector of doubles has half as many elements, and takes as long.
func TestFuseDecisionCountsLanes(t *testing.T) {
	o := impl.Repeated{Elements: 1 << 10, DType: types.F32, Work: 20, Reads: 1 << 14}
	inside := func(t types.DType) float64 {
		o.DType = t
		return impl.FuseDecision(machines[0], o).Values[0].Cost
	}
	if f32, f64 := inside(types.F32), inside(types.F64); f64 != 2*f32 {
		t.Errorf("to compute doubles costs %v, floats %v", f64, f32)
	}
	if f32, f16 := inside(types.F32), inside(types.F16); f16 != f32 {
		t.Errorf("to compute halves, which is done in floats, costs %v, floats %v", f16, f32)
	}
}

// TestSoftmaxDecision: lines side by side fill vectors where there are many of them; few are moved, where lines are long enough to fill vectors themselves.
func TestSoftmaxDecision(t *testing.T) {
	for _, c := range []struct {
		name         string
		line, beside int
		want         string
	}{
		{"two beside each other", 384, 2, "moved"},
		{"twelve of sixteen", 384, 12, "in place"},
		{"short lines", 5, 4, "in place"},
		{"shorter lines", 3, 2, "in place"},
		{"four of sixteen", 384, 4, "moved"},
	} {
		x := types.Of(types.F32, 1<<8, c.line, c.beside)
		d := impl.SoftmaxDecision(machines[0], x, c.line, c.beside)
		if got := d.Values[d.Default].Text; got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, d.Values)
		}
	}
}
