package impl_test

import (
	"testing"

	"lathe/internal/choice"
	"lathe/internal/impl"
)

// TestGroupedConv: channels are lanes where a half of a vector of them is or lines are short, pixels where few channels are and
// lines are long. What lies in a layout stays there at equal cost, and pixels that lie far apart
// are lanes where the channels that one vector holds are few. In one group they are where channels would leave lanes empty that lines fill.
func TestGroupedConv(t *testing.T) {
	base := impl.GroupedConv{Groups: 16, PerGroup: 4, Steps: 36, Lines: 56, Rows: 56, Stride: 1, Result: 4 * 64 * 56 * 56, MovedChannels: 2 * 4 * 64 * 56 * 56}
	with := func(f func(*impl.GroupedConv)) impl.GroupedConv {
		g := base
		f(&g)
		return g
	}
	blocked := func(g *impl.GroupedConv) { g.MovedPixels, g.MovedChannels = g.MovedChannels, 0 }
	one := func(channels, window, lines, rows int) impl.GroupedConv {
		return impl.GroupedConv{Groups: 1, PerGroup: channels, Steps: 64 * window * window, Window: window, Lines: lines, Rows: rows, Stride: 1}
	}
	for _, c := range []struct {
		name  string
		conv  impl.GroupedConv
		lanes int
		want  bool
	}{
		{"plain data", base, 4, false},
		{"no lanes", with(func(g *impl.GroupedConv) { g.Stride = 2 }), 1, false},
		{"strided", with(func(g *impl.GroupedConv) { g.Stride, g.PerGroup = 3, 8 }), 8, false},
		{"strided, dear to move", with(func(g *impl.GroupedConv) { blocked(g); g.Stride, g.PerGroup, g.Steps = 3, 8, 1 }), 8, true},
		{"far apart", with(func(g *impl.GroupedConv) { g.Stride, g.PerGroup = 5, 8 }), 8, true},
		{"strided, two lanes", with(func(g *impl.GroupedConv) { g.Stride, g.PerGroup, g.Steps = 2, 34, 175 }), 2, false},
		{"short lines", with(func(g *impl.GroupedConv) { blocked(g); g.PerGroup, g.Lines, g.Rows = 8, 7, 7 }), 8, true},
		{"dear to move", with(func(g *impl.GroupedConv) { blocked(g); g.Steps = 1 }), 4, true},
		{"cheap to move", with(func(g *impl.GroupedConv) { blocked(g); g.Steps = 1000 }), 4, false},
		{"just above a vector", one(17, 3, 64, 64), 16, false},
		{"just below two", one(31, 3, 64, 64), 16, true},
		{"above two, short lines", one(33, 3, 9, 9), 16, true},
		{"depthwise by itself", with(func(g *impl.GroupedConv) { g.Groups, g.PerGroup, g.Steps = 64, 1, 9 }), 16, false},
		{"depthwise of transposed data", with(func(g *impl.GroupedConv) { g.Groups, g.PerGroup, g.Steps, g.MovedChannels = 64, 1, 9, 0 }), 16, true},
		{"all pixels a line", one(53, 1, 1, 841), 16, false},
		{"all pixels a line, many steps", with(func(g *impl.GroupedConv) { *g = one(632, 1, 1, 735); g.Steps = 632 }), 16, true},
	} {
		byDefault := func(d choice.Decision) (string, error) { return d.Values[d.Default].Text, nil }
		if got, _ := c.conv.ByChannels(machines[0], c.lanes, byDefault); got != c.want {
			t.Errorf("%s: by channels %v, want %v", c.name, got, c.want)
		}
	}
}
