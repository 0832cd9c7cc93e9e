package evaluate

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/evaluate/metrics"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/spelling"
)

// A grid is a table of text: its head, and rows as wide. The same tables are printed, written as Markdown and shown in the page.
type grid struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string
}

func percent(i metrics.Interval) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", 100*i.Value, 100*i.Low, 100*i.High)
}

func share(v float64) string { return fmt.Sprintf("%.2f", 100*v) }
func ms(v float64) string    { return fmt.Sprintf("%.4g", v) }

// qualities is a row of figures for each variant.
func (r *Report) qualities() grid {
	g := grid{
		Title: "Quality", Head: []string{"variant", "accuracy % (95 % interval)", "top 5 %", "precision %", "recall %", "F1 %", "G-mean %", "AUC"},
		Note: "Precision, recall (sensitivity), F1 and AUC are means over the classes that have samples; the G-mean is the geometric mean of recalls.",
	}
	for _, v := range r.Variants {
		if v.Quality == nil {
			continue
		}
		q, m := v.Quality, v.Quality.Means
		row := []string{v.Name, percent(q.Accuracy), "", share(m.Precision), share(m.Recall), share(m.F1), share(m.GMean), ""}
		if q.Top5 != nil {
			row[2] = share(q.Top5.Value)
		}
		if m.AUC > 0 {
			row[7] = fmt.Sprintf("%.4f", m.AUC)
		}
		g.Rows = append(g.Rows, row)
		if len(m.Absent) > 0 {
			g.Note += fmt.Sprintf(" %s: %s without samples, left out of the means.", v.Name, spelling.Count(len(m.Absent), "class"))
		}
	}
	return g
}

// comparisons is a row for each variant but the baseline.
func (r *Report) comparisons() grid {
	g := grid{
		Title: "Against " + r.Baseline, Head: []string{"variant", "same class %", "lost", "won", "McNemar's p", "SQNR dB", "times as fast"},
		Note: "Lost are samples that the baseline alone has right, won those that the variant alone has. p is the probability of such a difference between two that are equally good.",
	}
	for _, v := range r.Variants {
		c := v.Against
		if c == nil {
			continue
		}
		row := []string{v.Name, percent(c.Agreement), fmt.Sprint(c.Lost), fmt.Sprint(c.Won), fmt.Sprintf("%.3g", c.P), "", ""}
		switch {
		case c.Equal:
			row[5] = "same bits"
		case c.SQNR != nil:
			row[5] = fmt.Sprintf("%.1f", *c.SQNR)
		}
		if v.Speedup > 0 {
			row[6] = fmt.Sprintf("%.2f", v.Speedup)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// times is a row for each variant that was timed.
func (r *Report) times() grid {
	g := grid{
		Title: "Time of a run in ms", Head: []string{"variant", "threads", "median", "mean", "std", "min", "p90", "p99", "max", "runs"},
		Note: "The call of a run alone, without reading and preparing samples. Variants take turns in blocks; the first run of each turn does not count.",
	}
	for _, v := range r.Variants {
		if t := v.Times; t != nil {
			threads := ""
			if v.Threads > 0 {
				threads = fmt.Sprint(v.Threads)
			}
			g.Rows = append(g.Rows, []string{v.Name, threads, ms(t.Median), ms(t.Mean), ms(t.Std), ms(t.Min), ms(t.P90), ms(t.P99), ms(t.Max), fmt.Sprint(t.Runs)})
		}
	}
	return g
}

// sizes is a row for each package.
func (r *Report) sizes() grid {
	g := grid{Title: "Sizes", Head: []string{"variant", "model file", "package", "library", "weights", "memory of a run"}}
	for _, v := range r.Variants {
		if s := v.Sizes; s != nil {
			source := ""
			if s.Source > 0 {
				source = bundle.SizeText(s.Source)
			}
			g.Rows = append(g.Rows, []string{v.Name, source, bundle.SizeText(s.Package), bundle.SizeText(s.Library), bundle.SizeText(s.Weights), bundle.SizeText(s.Memory)})
		}
	}
	return g
}

// causes is a row for each cause of each variant.
func (r *Report) causes() grid {
	g := grid{Title: "What makes them slow", Head: []string{"variant", "code", "count", "time %", "cause", "nodes"},
		Note: "The time of kernels that a cause is found in; these may do other work, too, and several causes may be found in one."}
	for _, v := range r.Variants {
		for _, c := range v.Causes {
			g.Rows = append(g.Rows, []string{v.Name, c.Code, fmt.Sprint(c.Count), fmt.Sprintf("%.1f", 100*c.Share), c.Text, strings.Join(c.Nodes, ", ")})
		}
	}
	return g
}

// labGrid is the figures of the course.
func (r *Report) labGrid() grid {
	names := []string{"accuracy", "mean_precision", "mean_sensitivity", "g_mean", "top5"}
	g := grid{Title: "As the lab computes", Head: append([]string{"variant"}, names...),
		Note: "These are the course's formulas, to compare with its reports: its precision is recall, its sensitivity and G-mean are precision, and its top 5 divides by samples times classes."}
	for _, v := range r.Variants {
		if v.Lab == nil {
			continue
		}
		row := []string{v.Name}
		for _, n := range names {
			if x, ok := v.Lab[n]; ok {
				row = append(row, fmt.Sprintf("%.6g", x))
			} else {
				row = append(row, "nan")
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// variants says what each name stands for.
func (r *Report) variants() grid {
	g := grid{Title: "Variants", Head: []string{"variant", "model", "options", "target", "trouble"}}
	for _, v := range r.Variants {
		g.Rows = append(g.Rows, []string{v.Name, v.Model, v.Options.String(), v.Target, v.Error})
	}
	return g
}

// grids are the tables that have rows, in the order of the report.
func (r *Report) grids() []grid {
	var list []grid
	for _, g := range []grid{r.qualities(), r.times(), r.comparisons(), r.sizes(), r.causes(), r.labGrid(), r.variants()} {
		if len(g.Rows) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// perClass is a row for each class of a variant.
func (v *VariantReport) perClass() grid {
	g := grid{Title: "Classes of " + v.Name, Head: []string{"class", "name", "samples", "predicted", "precision %", "recall %", "F1 %", "AUC"}}
	if v.Quality == nil {
		return g
	}
	for _, k := range v.Quality.Classes {
		row := []string{fmt.Sprint(k.Class), k.Name, fmt.Sprint(k.Support), fmt.Sprint(k.Predicted), share(k.Precision), share(k.Recall), share(k.F1), ""}
		if k.AUC > 0 {
			row[7] = fmt.Sprintf("%.4f", k.AUC)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// head says what was evaluated where.
func (r *Report) head() []string {
	d := r.Data
	lines := []string{
		fmt.Sprintf("%s of %s (%s); %s, %s, %s", spelling.Count(d.Samples, "sample"), d.Path, d.Kind, r.Machine.CPU, spelling.Count(r.Machine.Cores, "core"), r.Date),
	}
	for _, v := range r.Variants {
		if v.Error == "" && v.Samples+len(d.Bad) < d.Samples {
			lines = append(lines, fmt.Sprintf("Interrupted: %s has %d of %d samples. The same command goes on.", v.Name, v.Samples, d.Samples))
			break
		}
	}
	lines = append(lines, d.Notes...)
	if n := len(d.Bad); n > 0 {
		lines = append(lines, fmt.Sprintf("%s left out, which cannot be read, such as %s: %s", spelling.Count(n, "sample"), d.Bad[0].Name, d.Bad[0].Error))
	}
	return lines
}

// markdown writes a table. Cells are excerpts without what has a meaning there.
func (g grid) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", excerpt.Line(g.Title))
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(excerpt.Line(c)))
		}
		b.WriteString("|\n")
	}
	line(g.Head)
	b.WriteString(strings.Repeat("| --- ", len(g.Head)) + "|\n")
	for _, row := range g.Rows {
		line(row)
	}
	if g.Note != "" {
		fmt.Fprintf(b, "\n%s\n", excerpt.Line(g.Note))
	}
}

// Markdown writes the summary, with the confusion matrices as links to their pictures.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("# Evaluation\n\n")
	for _, line := range r.head() {
		fmt.Fprintf(&b, "%s\n\n", excerpt.Line(line))
	}
	for _, g := range r.grids() {
		g.markdown(&b)
	}
	for _, v := range r.Variants {
		if v.matrix != nil {
			fmt.Fprintf(&b, "\n![%s](%[1]s-confusion-matrix.png)\n", v.Name)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// metrics writes the file of one variant: the lines of the course's report by their right names, and a table of classes.
func (r *Report) metrics(w io.Writer, v *VariantReport) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Model type: %s\n\n", v.Name)
	if q := v.Quality; q != nil {
		fmt.Fprintf(&b, "* Accuracy: %v\n* Mean precision: %v\n* Mean sensitivity: %v\n* G-Mean: %v\n", q.Accuracy.Value, q.Means.Precision, q.Means.Recall, q.Means.GMean)
		if q.Top5 != nil {
			fmt.Fprintf(&b, "* Top-5 percentage: %v\n", q.Top5.Value)
		}
	}
	if v.Times != nil {
		fmt.Fprintf(&b, "* Mean inference time: %v ms\n", v.Times.Mean)
	}
	if g := v.perClass(); len(g.Rows) > 0 {
		g.markdown(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}
