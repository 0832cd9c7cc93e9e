package tuning

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"slices"
	"strings"

	"lathe/internal/records"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tune"
)

// Sizes of charts, pixels.
const (
	width     = 1100
	height    = 200
	left      = 46
	right     = 20
	above     = 30
	below     = 24
	mostLines = 400 // points of a chart of coordinates, the fastest
	mostAxes  = 10
	mostTexts = 24 // values of an axis that have a label
	lowest    = 0.4
	highest   = 2.0 // of ratios that are drawn
)

// Noise100 is the noise in percent.
func (r *Report) Noise100() float64 { return 100 * r.Spread }

// Noisy reports noise of which tune tells.
func (r *Report) Noisy() bool { return r.Spread > 0.05 }

// y is where a ratio is drawn.
func y(ratio float64) float64 {
	share := (highest - max(lowest, min(highest, ratio))) / (highest - lowest)
	return above + share*(height-above-below)
}

// Samples draws the ratios of trials with their bounds.
func (r Row) Samples() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="samples over trials">`, width, height, width, height)
	for _, ratio := range []float64{0.5, 1, 1.5, 2} {
		class := "axis"
		if ratio == 1 {
			class = "one"
		}
		fmt.Fprintf(&b, `<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="small soft" x="8" y="%.1f">%.1f</text>`, class, left, width-right, y(ratio), y(ratio), y(ratio)+3, ratio)
	}
	best := 1.0
	line := fmt.Sprintf("M%d %.1f", left, y(best))
	for i, t := range r.Trials {
		x := left + (float64(i)+0.5)*float64(width-left-right)/float64(len(r.Trials))
		if t.Pairs == 0 {
			message := t.Message
			if t.Fault == records.None {
				message = "not run: LLVM expects many times the cycles"
			}
			fmt.Fprintf(&b, `<rect class="s1" x="%.1f" y="%d" width="3" height="3"><title>trial %d: %s</title></rect>`, x-1.5, height-below, t.Index, quoted(message))
			continue
		}
		if t.Workers <= 1 && t.Ratio < best {
			line += fmt.Sprintf("H%.1fV%.1f", x, y(t.Ratio))
			best = t.Ratio
		}
		class := "s0"
		if t.Workers > 1 {
			class = "s3"
		}
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="var(--light)"/><circle class="%s" cx="%.1f" cy="%.1f" r="2.5"><title>trial %d: %.3f (%.3f to %.3f), %s</title></circle>`,
			x, x, y(t.High), y(t.Low), class, x, y(t.Ratio), t.Index, t.Ratio, t.Low, t.High, quoted(text(t)))
	}
	fmt.Fprintf(&b, `<path d="%sH%d" fill="none" stroke="var(--third)" stroke-width="1.5"/></svg>`, line, width-right)
	return template.HTML(b.String())
}

// An axis is a decision with its values in order.
type axis struct {
	name   string
	values []string
}

// axes are the decisions that trials took differently, those with the most values first.
func axes(trials []*tune.Trial) []axis {
	seen := map[string][]string{}
	order := map[string]map[string]int{}
	for _, t := range trials {
		for _, d := range t.Asked {
			if order[d.Name] == nil {
				order[d.Name] = map[string]int{}
			}
			for i, v := range d.Values {
				order[d.Name][v.Text] = i
			}
		}
		for name, text := range t.Taken {
			if !slices.Contains(seen[name], text) {
				seen[name] = append(seen[name], text)
			}
		}
	}
	var list []axis
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if values := seen[name]; len(values) > 1 {
			slices.SortFunc(values, func(a, b string) int {
				if c := order[name][a] - order[name][b]; c != 0 {
					return c
				}
				return strings.Compare(a, b)
			})
			list = append(list, axis{name, values})
		}
	}
	slices.SortStableFunc(list, func(a, b axis) int { return len(b.values) - len(a.values) })
	return list[:min(len(list), mostAxes)]
}

// Points draws trials as lines through the values of decisions, and the ratio as the last axis. The fastest are in front.
func (r Row) Points() template.HTML {
	var trials []*tune.Trial
	for _, t := range r.Trials {
		if t.Pairs > 0 && len(t.Taken) > 0 {
			trials = append(trials, t)
		}
	}
	slices.SortStableFunc(trials, func(a, b *tune.Trial) int {
		if a.Ratio > b.Ratio {
			return -1
		}
		return 1
	})
	trials = trials[max(0, len(trials)-mostLines):]
	list := axes(trials)
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="points by their decisions">`, width, height, width, height)
	x := func(i int) float64 {
		return left + 40 + float64(i)*float64(width-left-right-120)/float64(len(list))
	}
	at := func(a axis, value string) (float64, bool) {
		i := slices.Index(a.values, value)
		return height - below - float64(i)*float64(height-above-below)/float64(len(a.values)-1), i >= 0
	}
	for i, t := range trials {
		stroke, wide, opacity := "var(--second)", 1.0, 0.25
		if t.Ratio < 0.99 {
			stroke, opacity = "var(--third)", 0.5
		}
		if i == len(trials)-1 {
			stroke, wide, opacity = "var(--first)", 2.5, 1
		}
		var path []string
		for k, a := range list {
			if v, ok := at(a, t.Taken[a.name]); ok {
				path = append(path, fmt.Sprintf("%.1f,%.1f", x(k), v))
			}
		}
		path = append(path, fmt.Sprintf("%.1f,%.1f", x(len(list)), y(t.Ratio)))
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f" opacity="%.2f"><title>%.3f: %s</title></polyline>`,
			strings.Join(path, " "), stroke, wide, opacity, t.Ratio, quoted(text(t)))
	}
	for k, a := range list {
		fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="small" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(k), x(k), above, height-below, x(k), 10+10*(k%2), quoted(a.name))
		step := 1 + (len(a.values)-1)/mostTexts
		if len(a.values) > 12 {
			step = max(step, len(a.values)/12)
		}
		for i := 0; i < len(a.values); i += step {
			v, _ := at(a, a.values[i])
			fmt.Fprintf(&b, `<text class="small soft" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, x(k)-4, v+3, quoted(a.values[i]))
		}
	}
	last := x(len(list))
	fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="small" x="%.1f" y="10" text-anchor="middle">time over the rules'</text>`, last, last, above, height-below, last)
	for _, ratio := range []float64{0.5, 1, 1.5, 2} {
		fmt.Fprintf(&b, `<text class="small soft" x="%.1f" y="%.1f">%.1f</text>`, last+5, y(ratio)+3, ratio)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// text is what a trial was given.
func text(t *tune.Trial) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.Point)) {
		parts = append(parts, name+" "+t.Point[name])
	}
	return strings.Join(parts, ", ")
}

// quoted is what a model or a file may hold, as text of a page.
func quoted(s string) string { return html.EscapeString(excerpt.Line(s)) }
