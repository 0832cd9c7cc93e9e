package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/table"
)

// Text writes a table of the kernels and their sum.
func (r *Run) Text(w io.Writer) error { return r.TextWithTable(w, w) }

// TextWithTable is Text with another writer for the lines of the table, such as one that cuts them.
func (r *Run) TextWithTable(w, lines io.Writer) error {
	fmt.Fprintf(w, "Profile of %s with %s\n", excerpt.Line(r.Title), threads(r.Threads))
	for _, line := range r.Head() {
		fmt.Fprintln(w, excerpt.Line(line))
	}
	fmt.Fprintf(w, "A whole run: %.3f ms; sum of steps: %.3f ms (medians of %d, in turns)\n", r.Median/1e3, r.Sum.Us/1e3, len(r.Whole))
	if d := r.Doubt(); d != "" {
		fmt.Fprintln(w, "! "+d)
	}
	if r.Measured() {
		fmt.Fprintf(w, "The most time lost first, against %.0f GFLOP/s%s and %.0f GB/s from memory, measured here. Peak is the share of that\n", r.Peaks.Float32, r.int8Peak(), r.Peaks.Read)
		fmt.Fprintln(w, "arithmetic; read that of memory, for steps that move more than they compute: over 100 % where data stays in caches.")
	}
	t := table.NewRight(lines)
	heads := []any{"#", "Time (us)", "Share (%)"}
	if r.Measured() {
		heads = append(heads, "Lost (us)", "Peak (%)", "Read (%)")
	}
	t.Row(append(heads, "GFLOP/s", "GB/s", "Bytes", "", "  Kernel")...)
	for _, k := range r.Kernels {
		r.row(t, fmt.Sprint(k.Index), k.Cost, percent(k.Peak), percent(k.Read), "  "+k.describe())
	}
	r.row(t, "sum", r.Sum, "", "", "")
	if err := t.Flush(); err != nil {
		return err
	}
	if r.FLOPs > 0 && r.Sum.FLOPs < r.FLOPs-r.FLOPs/50 {
		_, err := fmt.Fprintf(w, "The kernels do %.0f %% of the operations of the model as given: its effective speed is %.2f GFLOP/s.\n",
			100*float64(r.Sum.FLOPs)/float64(r.FLOPs), rate(r.FLOPs, r.Median))
		return err
	}
	return nil
}

// Head says what was run where: the model, the target, this machine, when.
func (r *Run) Head() []string {
	lines := []string{"target " + r.Target}
	if r.Model != "" {
		lines = []string{fmt.Sprintf("%s, compiled by Lathe %s for %s", r.Model, r.Lathe, r.Target)}
	}
	if r.CPU != "" {
		lines = append(lines, fmt.Sprintf("%s, %s", r.CPU, r.Date.Format("2 January 2006, 15:04")))
	}
	return lines
}

func threads(n int) string { return spelling.Count(n, "thread") }

func (r *Run) row(t *table.Table, name string, c Cost, peak, read, rest string) {
	fixed := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	cells := []any{name, fixed(c.Us), fixed(c.Share)}
	if r.Measured() {
		cells = append(cells, fixed(c.Lost()), peak, read)
	}
	t.Row(append(cells, fixed(c.GFLOPS()), fixed(c.GBs()), c.Bytes, "", rest)...)
}

// int8Peak is text where a kernel is compared with it: that of vectors, and that of registers of matrices.
func (r *Run) int8Peak() string {
	text := ""
	for _, p := range []struct {
		gops float64
		what string
	}{{r.Peaks.Int8, "int8"}, {r.Peaks.Tiles, "matrices of int8"}} {
		used := func(k Kernel) bool { return strings.HasSuffix(k.Multiply, "int8") && r.Peaks.Of(k.Step) == p.gops }
		if p.gops > 0 && p.gops != r.Peaks.Float32 && slices.ContainsFunc(r.Kernels, used) {
			text += fmt.Sprintf(", %.0f Gop/s of %s", p.gops, p.what)
		}
	}
	return text
}

// percent is empty where there is no share.
func percent(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", v)
}

func (k *Kernel) describe() string {
	text := k.Name
	if len(k.Nodes) > 0 {
		text += " (" + strings.Join(k.Nodes, " ") + ")"
	}
	if how := k.How(); how != "" {
		text += " by " + how
	}
	return text
}
