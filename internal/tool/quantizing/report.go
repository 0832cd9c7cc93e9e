// Package quantizing is the report of a quantisation: as text, and as a page of one file.
package quantizing

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lathe/internal/evaluate/metrics"
	"lathe/internal/quant"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/table"
	"lathe/internal/tool/webpage"
)

//go:embed page.html
var content string

var page = webpage.New(content, template.FuncMap{"percent": percent, "general": general, "millis": millis})

// A Report is what is shown.
type Report struct {
	Title string   // the model
	Head  []string // file, samples, options
	*quant.Report
}

func percent(share float64) string { return fmt.Sprintf("%.3g", 100*share) }
func general(x float64) string     { return fmt.Sprintf("%.4g", x) }

// HTML writes the report as a page of one file.
func (r *Report) HTML(w io.Writer) error { return page.Write(w, "Quantisation of "+r.Title, r) }

// Summary are the lines that say what became of the network.
func (r *Report) Summary() [][2]string {
	lines := [][2]string{
		{"layers", fmt.Sprintf("%d of %d on integers, %s between them", r.Quantised(), len(r.Layers), spelling.Count(len(r.Points), "value"))},
		{"outputs", fmt.Sprintf("%.1f dB signal to noise%s on %s (%s tried)", r.SQNR, r.where(), spelling.Count(r.TrialSamples, "sample"), spelling.Count(r.Trials, "choice"))},
		{"ranges", fmt.Sprintf("of %s", spelling.Count(r.Samples, "sample"))},
		{"corrections", r.corrections()},
		{"weights", bytesText(r.WeightBytes, r.FloatWeightBytes) + ", with their scales"},
		{"constants", bytesText(r.Bytes, r.FloatBytes) + ", with biases"},
	}
	for _, p := range r.Inputs {
		lines = append(lines, [2]string{"input", fmt.Sprintf("%s: %s q for %s (q - %d)", p.Name, r.IO, general(p.Scale), p.Zero)})
	}
	for _, p := range r.Outputs {
		lines = append(lines, [2]string{"output", fmt.Sprintf("%s: %s q for %s (q - %d), whose rounding by itself is %.1f dB", p.Name, r.IO, general(p.Scale), p.Zero, p.SQNR)})
	}
	if r.Ms > 0 {
		lines = append(lines, [2]string{"time", fmt.Sprintf("%.3g ms instead of %.3g (medians on this machine)", r.Ms, r.FloatMs)})
	}
	if j := r.Judged; j != nil {
		lines = append(lines, [2]string{"same class", shareText(j.Same, j.Samples)})
		if j.Labelled {
			lines = append(lines, [2]string{"right class", shareText(j.Right, j.Samples)}, [2]string{"as floats", shareText(j.FloatRight, j.Samples)},
				[2]string{"lost", fmt.Sprintf("%.2f points", j.Drop())})
		}
	}
	return lines
}

// where says in front of what the outputs are compared.
func (r *Report) where() string {
	if r.BeforeSoftmax {
		return " in front of the softmax"
	}
	return ""
}

func bytesText(n, instead int) string {
	return fmt.Sprintf("%d bytes instead of %d (%.1f %%)", n, instead, 100*float64(n)/float64(max(instead, 1)))
}

// shareText is a share of samples with its 95 % interval.
func shareText(k, n int) string {
	i := metrics.Wilson(k, n)
	return fmt.Sprintf("%.2f %% of %s (%.2f to %.2f)", 100*float64(k)/float64(max(n, 1)), spelling.Count(n, "sample"), 100*i.Low, 100*i.High)
}

func (r *Report) corrections() string {
	var list []string
	if r.Equalized > 0 {
		list = append(list, fmt.Sprintf("channels equalised (strength %g)", r.Equalized))
	}
	if r.Rounding != "" {
		list = append(list, "weights rounded to "+r.Rounding)
	}
	if r.Corrected {
		list = append(list, "biases corrected")
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Text writes the report for a terminal: the summary, layers that stay float, and with all also every layer and every value.
func (r *Report) Text(w io.Writer, all bool) error {
	t := table.New(w)
	for _, l := range r.Summary() {
		t.Row(l[0], l[1])
	}
	for _, l := range r.Layers {
		if l.Why != "" && !all {
			t.Row("float", l.Name+" ("+l.Operator+"): "+l.Why)
		}
	}
	if err := t.Flush(); err != nil || !all {
		return err
	}
	if err := r.layerTable(w); err != nil {
		return err
	}
	return r.pointTable(w)
}

func (r *Report) layerTable(w io.Writer) error {
	t := table.New(w)
	t.Row()
	t.Row("LAYER", "OPERATOR", "BITS", "WEIGHTS DB", "GAIN DB", "MS", "FLOAT MS", "READS", "")
	for _, l := range r.Layers {
		t.Row(l.Name, l.Operator, l.Bits, decibels(l.SQNR), decibels(l.Gain), millis(l.Ms), millis(l.FloatMs), l.Reads, l.Why)
	}
	return t.Flush()
}

func (r *Report) pointTable(w io.Writer) error {
	t := table.New(w)
	t.Row()
	t.Row("VALUE", "RANGE", "METHOD", "SCALE", "ZERO POINT", "CLIPPED %", "DB")
	for _, p := range r.Points {
		t.Row(p.Name, general(p.Min)+" to "+general(p.Max), p.Mode, general(p.Scale), p.Zero, percent(p.Clipped), decibels(p.SQNR))
	}
	return t.Flush()
}

func decibels(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", x)
}

func millis(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", x)
}
