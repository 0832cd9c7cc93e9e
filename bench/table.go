package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tableCommand makes this program print a file of results as a table for a page in Markdown.
const tableCommand = "table"

// printTable is the command.
func printTable(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: bench %s RESULTS.json", tableCommand)
	}
	r, err := readReport(args[0])
	if err != nil {
		return err
	}
	r.markdown(os.Stdout)
	return nil
}

// markdown writes one line per network and batch, with a cell for all numbers of threads, as "1 thread / 2 threads".
func (r *report) markdown(w io.Writer) {
	var threads []string
	for _, p := range r.Peaks {
		threads = append(threads, fmt.Sprint(p.Threads))
	}
	heads := []string{"network", "Lathe ms"}
	for _, p := range r.Peers {
		heads = append(heads, p.Name+" "+p.Version+" ms", "times as fast")
	}
	heads = append(heads, "GFLOP/s", "compile s")
	fmt.Fprintf(w, "Median times on %s threads.\n\n", strings.Join(threads, " / "))
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
	for i := 0; i < len(r.Rows); {
		rows := r.Rows[i:]
		n := 1
		for n < len(rows) && rows[n].Model == rows[0].Model && rows[n].Batch == rows[0].Batch {
			n++
		}
		i += n
		rows = rows[:n]
		if rows[0].Lathe == nil {
			continue
		}
		name := rows[0].Model
		if rows[0].Batch > 1 {
			name += fmt.Sprintf(", batch %d", rows[0].Batch)
		}
		cells := []string{name, across(rows, func(w row) string { return decimal(w.Lathe.Median) })}
		for k := range r.Peers {
			cells = append(cells, across(rows, func(w row) string { return w.peer(k).cellDecimal() }),
				across(rows, func(w row) string { p := w.peer(k); return p.cell(p.Ratio) }))
		}
		cells = append(cells, across(rows, func(w row) string { return fmt.Sprintf("%.0f", w.Effective) }), fmt.Sprintf("%.1f", rows[0].Compile.Seconds))
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
	for _, m := range r.means() {
		fmt.Fprintf(w, "- %d %s networks, batch %d, %s: geometric mean %.2f times as fast as %s, not slower on %d\n", m.Count, m.Kind(), m.Batch, threadsText(m.Threads), m.Ratio, m.Peer, m.Faster)
	}
}

// peer is the k-th rival of a row, an empty one where the row failed before.
func (w *row) peer(k int) *rival {
	if k >= len(w.Peers) {
		return &rival{}
	}
	return &w.Peers[k]
}

func (p *rival) cellDecimal() string {
	if p.Time == nil {
		return "-"
	}
	return decimal(p.Time.Median)
}

// across joins a cell of all numbers of threads.
func across(rows []row, cell func(row) string) string {
	var parts []string
	for _, w := range rows {
		if w.Lathe == nil {
			parts = append(parts, "-")
			continue
		}
		parts = append(parts, cell(w))
	}
	return strings.Join(parts, " / ")
}

// decimal shows three digits.
func decimal(ms float64) string {
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.2f", ms)
}
