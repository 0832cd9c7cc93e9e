package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/table"
)

// Text writes the report for people: a paragraph per kernel in the order they run, then sums by rule.
func (r *Report) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, excerpt.Line(r.Model+" for "+r.Target))
	fmt.Fprintf(b, "Expected times are the least by a model of %s, each with %.0f GFLOP/s of float32, %.0f Gop/s of int8, and\n",
		spelling.Count(r.Workers, "such core"), r.Core.Float32, r.Core.Int8)
	fmt.Fprintf(b, "%.0f, %.0f and %.0f GB/s from L2, L3 and memory.\n", r.Core.L2, r.Core.L3, r.Core.Memory)
	for _, k := range r.Kernels {
		k.text(b, "", strconv.Itoa(k.Index))
	}
	fmt.Fprintln(b)
	t := table.NewRight(b)
	t.Row("rule", "kernels", "MFLOP", "MB", "expected ms", "")
	for _, rule := range r.Rules {
		rule.row(t, rule.Rule)
	}
	r.Sum.row(t, "sum")
	if err := t.Flush(); err != nil {
		return err
	}
	if r.FLOPs > 0 {
		fmt.Fprintf(b, "The model as given is %.1f MFLOP; the kernels do %.1f %% of that.\n", mega(r.FLOPs), 100*float64(r.Sum.FLOPs)/float64(r.FLOPs))
	}
	return b.Flush()
}

func (t *Total) row(to *table.Table, name string) {
	to.Row(name, t.Kernels, fmt.Sprintf("%.1f", mega(t.FLOPs)), fmt.Sprintf("%.2f", mega(t.Bytes)), fmt.Sprintf("%.3f", t.Ms), "")
}

// text is the paragraph of a kernel, those of its body behind it.
func (k *Kernel) text(w io.Writer, indent, number string) {
	fmt.Fprintf(w, "\n%s%s %s\n", indent, number, excerpt.Line(k.Name))
	line := func(what string, parts ...string) {
		if text := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", "); text != "" {
			fmt.Fprintf(w, "%s    %-10s%s\n", indent, what, excerpt.Line(text))
		}
	}
	line("nodes", k.Nodes...)
	ops := k.Ops
	// A region of an external code generator that the package has no steps for.
	elsewhere := k.Trips > 0 && len(k.Body) == 0
	switch {
	case elsewhere:
		line("computes", "nothing: its module does")
		ops = nil
	case k.Trips > 0:
		parts := ""
		if k.Parts > 0 {
			parts = fmt.Sprintf(", in %d parts of its rows", k.Parts)
		}
		line("computes", spelling.Count(k.Trips, "iteration")+" of "+spelling.Count(len(k.Body), "kernel")+parts)
		ops = nil
	}
	for i, op := range ops {
		if i < len(k.Attrs) && k.Attrs[i] != "" {
			op += " " + k.Attrs[i]
		}
		line(map[bool]string{true: "computes"}[i == 0], op)
	}
	for i, c := range k.Choice {
		line(map[bool]string{true: "because"}[i == 0], c)
	}
	line("by", k.Rule+prefixed(": ", k.Why))
	line("reads", k.Reads...)
	line("writes", k.Writes...)
	workers := "all workers"
	if k.Workers > 0 {
		workers = spelling.Count(k.Workers, "worker")
	}
	if elsewhere {
		return
	}
	line("work", fmt.Sprintf("%.2f MFLOP%s", mega(k.FLOPs), prefixed(" on products of ", k.Multiply)), fmt.Sprintf("%.3f MB", mega(k.Bytes)), workers)
	line("expected", fmt.Sprintf("%.4f ms by %s", k.Ms, k.Limit))
	for i, b := range k.Inside {
		b.text(w, indent+"    ", fmt.Sprintf("%s.%d", number, i))
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func mega(n int64) float64 { return float64(n) / 1e6 }
