package evaluate

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"lathe/internal/tool/table"
	"lathe/internal/tool/webpage"
)

//go:embed page.html
var content string

var page = webpage.New(content, template.FuncMap{"numeric": numeric})

// pageData is what the page shows.
type pageData struct {
	Head     []string
	Cards    []card
	Grids    []grid
	Bars     []timeBar
	Variants []pageVariant
	Bad      []BadSample
}

type card struct{ Value, Text string }

// timeBar is a variant's median, and what the 90th percentile adds, in percent of the longest.
type timeBar struct {
	Name         string
	Ms           float64
	Solid, Light float64
}

type pageVariant struct {
	Name    string
	Matrix  template.HTML
	Classes grid
}

// mostDrawn is the number of classes up to which the page holds a confusion matrix; larger ones are beside it as a picture.
const mostDrawn = 120

// HTML writes the report as a page of one file.
func (r *Report) HTML(w io.Writer) error {
	d := pageData{Head: r.head(), Grids: r.grids(), Bad: r.Data.Bad}
	longest := 0.0
	for _, v := range r.Variants {
		if v.Times != nil {
			longest = max(longest, v.Times.P90)
		}
	}
	for _, v := range r.Variants {
		if v.Times != nil && longest > 0 {
			solid := 100 * v.Times.Median / longest
			d.Bars = append(d.Bars, timeBar{v.Name, v.Times.Median, solid, 100*v.Times.P90/longest - solid})
		}
		if v.matrix == nil {
			continue
		}
		p := pageVariant{Name: v.Name, Classes: v.perClass()}
		if len(v.classes) <= mostDrawn {
			var b bytes.Buffer
			if err := v.heatmap().SVG(&b); err != nil {
				return err
			}
			p.Matrix = template.HTML(b.String()) // escaped by its writer
		}
		d.Variants = append(d.Variants, p)
	}
	d.Cards = r.cards()
	return page.Write(w, "Evaluation", d)
}

// cards are the best of all variants.
func (r *Report) cards() []card {
	var best, fast, small *VariantReport
	for _, v := range r.Variants {
		if v.Quality != nil && (best == nil || v.Quality.Accuracy.Value > best.Quality.Accuracy.Value) {
			best = v
		}
		if v.Times != nil && (fast == nil || v.Times.Median < fast.Times.Median) {
			fast = v
		}
		if v.Sizes != nil && (small == nil || v.Sizes.Package < small.Sizes.Package) {
			small = v
		}
	}
	var list []card
	if best != nil {
		list = append(list, card{share(best.Quality.Accuracy.Value) + " %", "best accuracy: " + best.Name})
	}
	if fast != nil {
		list = append(list, card{ms(fast.Times.Median) + " ms", "fastest: " + fast.Name})
	}
	if small != nil {
		list = append(list, card{fmt.Sprintf("%.1f KiB", float64(small.Sizes.Package)/1024), "smallest: " + small.Name})
	}
	return list
}

// numeric reports whether a column of a table is sorted by numbers.
func numeric(g grid, column int) bool {
	return slices.ContainsFunc(g.Rows, func(row []string) bool { return row[column] != "" && row[column][0] >= '0' && row[column][0] <= '9' })
}

// Text prints the tables for a terminal.
func (r *Report) Text(w, lines io.Writer) error {
	for _, line := range r.head() {
		fmt.Fprintln(w, line)
	}
	for _, g := range r.grids() {
		if g.Title == "Variants" && !slices.ContainsFunc(r.Variants, func(v *VariantReport) bool { return v.Error != "" }) {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", g.Title)
		t := table.New(lines)
		cells := func(row []string) {
			list := make([]any, len(row))
			for i, c := range row {
				list[i] = c
			}
			t.Row(list...)
		}
		cells(g.Head)
		for _, row := range g.Rows {
			cells(row)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
