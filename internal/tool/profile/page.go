package profile

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lathe/internal/tool/spelling"
	"lathe/internal/tool/webpage"
)

//go:embed page.html
var content string

var page = webpage.New(content, template.FuncMap{"percent": percent, "threads": threads, "count": spelling.Count[int], "ms": func(us float64) string { return fmt.Sprintf("%.3f", us/1e3) }})

// HTML writes the profile as a page of one file.
func (r *Run) HTML(w io.Writer) error {
	return page.Write(w, strings.Join(append([]string{"Profile of " + r.Title}, r.Head()...), "; "), r)
}

// PeakShare is the speed of all arithmetic in percent of the peak; 0 when that is unknown.
func (r *Run) PeakShare() float64 {
	if !r.Measured() || r.Sum.Us <= 0 {
		return 0
	}
	var best float64
	for _, k := range r.Kernels {
		best += float64(k.FLOPs) / r.Peaks.Of(k.Step) / 1e3
	}
	return 100 * best / r.Sum.Us
}

// Effective is the speed counted in operations of the model as it was given; empty when the kernels do all of them.
func (r *Run) Effective() string {
	if r.FLOPs == 0 || r.Sum.FLOPs >= r.FLOPs-r.FLOPs/50 {
		return ""
	}
	return fmt.Sprintf("%.1f", rate(r.FLOPs, r.Median))
}

// Solid and Light are the parts of a kernel's bar in percent of the longest: the best time, and the time lost.
func (r *Run) Solid(c Cost) float64 { return 100 * (c.Us - r.lost(c)) / r.longest() }
func (r *Run) Light(c Cost) float64 { return 100 * r.lost(c) / r.longest() }

// Part and LostPart are the same for a group, in percent of the sum.
func (r *Run) Part(c Cost) float64     { return r.share(c.Us - r.lost(c)) }
func (r *Run) LostPart(c Cost) float64 { return r.share(r.lost(c)) }

func (r *Run) lost(c Cost) float64 {
	if !r.Measured() {
		return 0
	}
	return c.Lost()
}

func (r *Run) longest() float64 {
	longest := 1e-9
	for _, k := range r.Kernels {
		longest = max(longest, k.Us)
	}
	return longest
}
