package main

import (
	"fmt"
	"math"
	"slices"
)

// A chart is geometry for page.html: rows of bars from zero, or of dots on a logarithmic axis.
type chart struct {
	Title         string
	Note          string
	Width, Height int
	Top           int // where rows begin
	Left          int // where the axis begins
	Labels        []mark
	Bars          []mark
	Dots          []mark
	Ticks         []mark
	Line          float64 // x of a line that stands out; 0: none
	Legend        []mark
}

// A mark is one shape or text. Series is the index of its colour.
type mark struct {
	X, Y, W, H float64
	Text       string
	Series     int
}

const (
	chartWidth = 1180
	chartLeft  = 190
	chartRight = 70
	barHeight  = 9.0
	rowGap     = 9.0
	chartTop   = 56
)

// series is one colour of a chart: a peer with a number of threads.
type series struct {
	peer, threads int // peer -1 is Lathe
	text          string
}

// measured lists a batch's networks that have times, in the report's order.
func (r *report) measured(batch int) []string {
	var names []string
	for _, w := range r.Rows {
		if w.Batch == batch && w.Lathe != nil && !slices.Contains(names, w.Model) {
			names = append(names, w.Model)
		}
	}
	return names
}

func (r *report) batches() []int {
	var list []int
	for _, w := range r.Rows {
		if !slices.Contains(list, w.Batch) {
			list = append(list, w.Batch)
		}
	}
	return list
}

// value finds a row's number: Lathe's or a peer's median, or the ratio.
func (r *report) value(model string, batch int, s series, ratio bool) float64 {
	for _, w := range r.Rows {
		if w.Model != model || w.Batch != batch || w.Threads != s.threads || w.Lathe == nil {
			continue
		}
		switch {
		case s.peer < 0:
			return w.Lathe.Median
		case ratio:
			return w.peer(s.peer).Ratio
		}
		return w.peer(s.peer).ms()
	}
	return 0
}

// ratioChart shows how much faster Lathe is than each peer.
func (r *report) ratioChart(batch int) *chart {
	var list []series
	for i, p := range r.Peers {
		for _, t := range r.Peaks {
			list = append(list, series{i, t.Threads, p.Name + ", " + threadsText(t.Threads)})
		}
	}
	models := r.measured(batch)
	if len(list) == 0 || len(models) == 0 {
		return nil
	}
	c := newChart(fmt.Sprintf("How many times as fast as the peers, batch %d", batch), models, list)
	c.Note = "The peer's median time through Lathe's; right of the line Lathe is faster."
	most := 1.5
	for _, m := range models {
		for _, s := range list {
			most = max(most, r.value(m, batch, s, true))
		}
	}
	most = min(most, 6)
	x := func(v float64) float64 { return c.x(min(v, most) / most) }
	for v := 0.0; v <= most; v += 0.5 {
		c.Ticks = append(c.Ticks, mark{X: x(v), Text: fmt.Sprintf("%.1f", v)})
	}
	c.Line = x(1)
	c.rows(models, list, func(m string, s series, y float64, k int) {
		if v := r.value(m, batch, s, true); v > 0 {
			c.Bars = append(c.Bars, mark{X: float64(c.Left), Y: y, W: x(v) - float64(c.Left), H: barHeight, Text: fmt.Sprintf("%.2f", v), Series: k})
		}
	})
	return c
}

// timeChart shows times as dots, for they differ by more than a bar can show.
func (r *report) timeChart(batch, threads int) *chart {
	list := []series{{-1, threads, "Lathe"}}
	for i, p := range r.Peers {
		list = append(list, series{i, threads, p.Name})
	}
	models := r.measured(batch)
	low, high := math.Inf(1), 0.0
	for _, m := range models {
		for _, s := range list {
			if v := r.value(m, batch, s, false); v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		return nil
	}
	c := newChart(fmt.Sprintf("Times in ms, batch %d, %s", batch, threadsText(threads)), models, []series{{}})
	c.Note = "Medians, on a logarithmic axis."
	c.legend(list)
	ticks := logTicks(low, high)
	first, last := math.Log(ticks[0]), math.Log(ticks[len(ticks)-1])
	x := func(v float64) float64 { return c.x((math.Log(v) - first) / (last - first)) }
	for _, v := range ticks {
		c.Ticks = append(c.Ticks, mark{X: x(v), Text: fmt.Sprintf("%.4g", v)})
	}
	c.rows(models, []series{{}}, func(m string, _ series, y float64, _ int) {
		for k, s := range slices.Backward(list) { // Lathe lies on top
			if v := r.value(m, batch, s, false); v > 0 {
				c.Dots = append(c.Dots, mark{X: x(v), Y: y + barHeight/2, Text: fmt.Sprintf("%s, %s: %.2f ms", m, s.text, v), Series: k})
			}
		}
	})
	return c
}

// logTicks are 1, 2, 5, 10 and so on from at most low to at least high, two or more.
func logTicks(low, high float64) []float64 {
	var ticks []float64
	for e := math.Floor(math.Log10(low)) - 1; ; e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			if len(ticks) == 1 && v <= low {
				ticks = nil
			}
			ticks = append(ticks, v)
			if len(ticks) > 1 && v >= high {
				return ticks
			}
		}
	}
}

func newChart(title string, models []string, list []series) *chart {
	rowHeight := barHeight*float64(len(list)) + rowGap
	c := &chart{Title: title, Width: chartWidth, Left: chartLeft, Top: chartTop, Height: chartTop + int(rowHeight*float64(len(models))) + 8}
	if len(list) > 1 || list[0].text != "" {
		c.legend(list)
	}
	return c
}

func (c *chart) legend(list []series) {
	at := float64(c.Left)
	for k, s := range list {
		c.Legend = append(c.Legend, mark{X: at, Text: s.text, Series: k})
		at += 34 + 7*float64(len(s.text))
	}
}

// x is the place of a share of the axis.
func (c *chart) x(share float64) float64 {
	return float64(c.Left) + share*float64(c.Width-c.Left-chartRight)
}

// rows gives each network its label and calls f for each of its bars.
func (c *chart) rows(models []string, list []series, f func(model string, s series, y float64, k int)) {
	y := float64(c.Top) + rowGap/2
	for _, m := range models {
		height := barHeight * float64(len(list))
		c.Labels = append(c.Labels, mark{X: float64(c.Left) - 8, Y: y + height/2 + 4, Text: m})
		for k, s := range list {
			f(m, s, y+barHeight*float64(k), k)
		}
		y += height + rowGap
	}
}
