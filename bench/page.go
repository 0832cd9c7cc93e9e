package main

import (
	_ "embed"
	"html/template"
	"io"

	"lathe/internal/tool/webpage"
)

//go:embed page.html
var pageContent string

var pageTemplate = webpage.New(pageContent, template.FuncMap{
	"percent": percentText, "threads": threadsText,
	"add": func(a, b float64) float64 { return a + b },
	"px":  func(n int) float64 { return float64(n) },
})

// view is what page.html shows.
type view struct {
	*report
	Means  []mean
	Charts []*chart
}

// page writes the report as a page of one file.
func (r *report) page(w io.Writer) error {
	v := view{report: r, Means: r.means()}
	for _, batch := range r.batches() {
		charts := []*chart{r.ratioChart(batch)}
		for _, p := range r.Peaks {
			charts = append(charts, r.timeChart(batch, p.Threads))
		}
		for _, c := range charts {
			if c != nil {
				v.Charts = append(v.Charts, c)
			}
		}
	}
	return pageTemplate.Write(w, "Lathe beside its peers", v)
}

// Functions of rows for the page.

func (w row) Agrees(p rival) bool { return w.agrees(p) }
func (w row) Fewer() bool         { return w.fewerOperations() }
func (p rival) Ms() float64       { return p.ms() }
