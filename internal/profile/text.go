package profile

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes a table of the kernels and their sum.
func (r *Run) Text(w io.Writer) error { return r.TextWithTable(w, w) }

// TextWithTable is Text with another writer for the lines of the table, such as one that cuts them.
func (r *Run) TextWithTable(w, lines io.Writer) error {
	fmt.Fprintf(w, "Profile of %s with %s\n", r.Title, threads(r.Threads))
	for _, line := range r.Head() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "A whole run: %.3f ms; sum of steps: %.3f ms (medians of %d, in turns)\n", r.Median/1e3, r.Sum.Us/1e3, len(r.Whole))
	if d := r.Doubt(); d != "" {
		fmt.Fprintln(w, "! "+d)
	}
	if r.Measured() {
		fmt.Fprintf(w, "The most time lost first, against %.0f GFLOP/s%s and %.0f GB/s from memory, measured here. Peak is the share of that\n", r.Peaks.Float32, r.int8Peak(), r.Peaks.Read)
		fmt.Fprintln(w, "arithmetic; read that of memory, for steps that move more than they compute: over 100 % where data stays in caches.")
	}
	t := tabwriter.NewWriter(lines, 0, 0, 2, ' ', tabwriter.AlignRight)
	heads := "#\tTime (us)\tShare (%)\t"
	if r.Measured() {
		heads += "Lost (us)\tPeak (%)\tRead (%)\t"
	}
	fmt.Fprintln(t, heads+"GFLOP/s\tGB/s\tBytes\t\t  Kernel")
	for _, k := range r.Kernels {
		r.row(t, fmt.Sprint(k.Index), k.Cost, percent(k.Peak)+"\t"+percent(k.Read), "  "+k.describe())
	}
	r.row(t, "sum", r.Sum, "\t", "")
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

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

func (r *Run) row(w io.Writer, name string, c Cost, shares, rest string) {
	fmt.Fprintf(w, "%s\t%.2f\t%.2f\t", name, c.Us, c.Share)
	if r.Measured() {
		fmt.Fprintf(w, "%.2f\t%s\t", c.Lost(), shares)
	}
	fmt.Fprintf(w, "%.2f\t%.2f\t%d\t\t%s\n", c.GFLOPS(), c.GBs(), c.Bytes, rest)
}

// int8Peak is text where a kernel is compared with it.
func (r *Run) int8Peak() string {
	for _, k := range r.Kernels {
		if r.Peaks.of(k.Step) != r.Peaks.Float32 && r.Peaks.Int8 > 0 && strings.HasSuffix(k.Multiply, "int8") {
			return fmt.Sprintf(", %.0f Gop/s of int8", r.Peaks.Int8)
		}
	}
	return ""
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
