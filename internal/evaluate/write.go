package evaluate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"lathe/internal/evaluate/heatmap"
	"lathe/internal/tool/atomicfile"
)

// Write writes the report into a folder: results.json, summary.md and report.html, and for each variant NAME-metrics.md,
// NAME-confusion-matrix.png and .svg, NAME-predictions.csv and NAME-log.txt.
func (r *Report) Write(dir string) error {
	files := []struct {
		name  string
		write func(io.Writer) error
	}{{"results.json", r.JSON}, {"summary.md", r.Markdown}, {"report.html", r.HTML}}
	add := func(name string, write func(io.Writer) error) {
		files = append(files, struct {
			name  string
			write func(io.Writer) error
		}{name, write})
	}
	for _, v := range r.Variants {
		if v.Samples > 0 {
			add(v.Name+"-metrics.md", func(w io.Writer) error { return r.metrics(w, v) })
			add(v.Name+"-predictions.csv", v.predictions)
		}
		if v.matrix != nil {
			add(v.Name+"-confusion-matrix.png", func(w io.Writer) error { return v.heatmap().PNG(w) })
			add(v.Name+"-confusion-matrix.svg", func(w io.Writer) error { return v.heatmap().SVG(w) })
		}
		add(v.Name+"-log.txt", v.log)
	}
	for _, f := range files {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := atomicfile.Write(filepath.Join(dir, f.name), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (v *VariantReport) heatmap() *heatmap.Matrix {
	return &heatmap.Matrix{Title: "Confusion matrix: " + v.Name, Classes: v.classes, At: v.matrix.At}
}

// mostScores is the number of classes up to which predictions hold all scores.
const mostScores = 100

// predictions writes a row for each sample. The file can be given to --predictions again.
func (v *VariantReport) predictions(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"file", "label", "predicted", "predicted_name", "rank_of_label", "ms"}
	scored := !v.hard && len(v.classes) <= mostScores
	if scored {
		for i := range v.classes {
			head = append(head, scorePrefix+strconv.Itoa(i))
		}
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, p := range v.rows {
		row := []string{p.file, "", strconv.Itoa(p.predicted), v.classes[p.predicted], "", ""}
		if p.label >= 0 {
			row[1] = strconv.Itoa(p.label)
		}
		if p.rank > 0 {
			row[4] = strconv.Itoa(p.rank)
		}
		if v.Times != nil {
			row[5] = strconv.FormatFloat(float64(p.took)/float64(time.Millisecond), 'f', 6, 64)
		}
		if scored {
			for _, s := range p.scores {
				row = append(row, strconv.FormatFloat(float64(s), 'g', -1, 32))
			}
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// log writes what the compiler told and the causes of lost time, a line each.
func (v *VariantReport) log(w io.Writer) error {
	fmt.Fprintf(w, "# %s: %s %s\n", v.Name, v.Model, v.Options)
	if v.Target != "" {
		fmt.Fprintf(w, "# target %s\n", v.Target)
	}
	if v.Error != "" {
		fmt.Fprintf(w, "error: %s\n", v.Error)
	}
	for _, n := range v.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	var lost []error
	for _, c := range v.Causes {
		_, err := fmt.Fprintln(w, c)
		lost = append(lost, err)
	}
	return errors.Join(lost...)
}
