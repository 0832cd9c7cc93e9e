package evaluate

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe/internal/dataset"
	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// An External is what another engine made of the samples, read from a file.
type External struct {
	Name, Path string
	outcomes   []outcome
	hard       bool // there are classes and no scores
	classes    int
	timed      bool
}

// Columns of a file of predictions: what NAME-predictions.csv has, or the words of others.
var (
	fileNames      = []string{"file", "filename", "image", "path", "sample"}
	predictedNames = []string{"predicted", "prediction", "pred"}
	timeNames      = []string{"ms", "time_ms"}
)

const scorePrefix = "score_"

// ReadPredictions reads predictions of the samples of a set: a .csv file with the columns file and predicted (a number or a
// name), and where they are known ms and score_0, score_1 ...; or an array of scores in .npy or .npz with a row for each sample.
func ReadPredictions(name, path string, set *dataset.Set) (*External, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("predictions: %w", err)
	}
	e := &External{Name: name, Path: path, outcomes: make([]outcome, len(set.Samples))}
	if bytes.HasPrefix(b, []byte("\x93NUMPY")) || bytes.HasPrefix(b, []byte("PK")) {
		err = e.fromArrays(b)
	} else {
		err = e.fromCSV(b, set)
	}
	if err != nil {
		return nil, fmt.Errorf("predictions %s: %w", path, err)
	}
	return e, nil
}

// fromArrays takes one array of scores, and one called ms where there is one.
func (e *External) fromArrays(b []byte) error {
	arrays, err := npz.Read(b)
	if err != nil {
		return err
	}
	for _, a := range arrays {
		d, err := types.ParseDType(a.DType)
		if err != nil {
			return err
		}
		t := tensor.Over(d, a.Shape, a.Data)
		if len(a.Shape) == 0 || a.Shape[0] != len(e.outcomes) {
			return fmt.Errorf("array %q is %v, and there are %s", a.Name, a.Shape, spelling.Count(len(e.outcomes), "sample"))
		}
		width := t.Len() / len(e.outcomes)
		timed := slices.Contains(timeNames, a.Name)
		switch {
		case timed && width != 1, !timed && (width < 2 || width > maxScores), !timed && e.classes > 0:
			return fmt.Errorf("array %q is %v: one array with a row of scores for each sample is wanted", a.Name, a.Shape)
		case timed:
			e.timed = true
		default:
			e.classes = width
		}
		for i := range e.outcomes {
			if timed {
				e.outcomes[i].took = milliseconds(t.Float(i))
				continue
			}
			e.outcomes[i].scores = make([]float32, width)
			for j := range width {
				e.outcomes[i].scores[j] = float32(t.Float(i*width + j))
			}
		}
	}
	if e.classes == 0 {
		return errors.New("there is no array of scores")
	}
	return nil
}

func milliseconds(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// columns are the places of what is known in a row; -1 is not there.
type columns struct {
	file, predicted, ms int
	scores              []int
}

func findColumns(head []string) (columns, error) {
	find := func(names []string) int {
		return slices.IndexFunc(head, func(c string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(c))) })
	}
	c := columns{find(fileNames), find(predictedNames), find(timeNames), nil}
	for {
		at := slices.Index(head, scorePrefix+strconv.Itoa(len(c.scores)))
		if at < 0 {
			break
		}
		c.scores = append(c.scores, at)
	}
	if c.file < 0 || c.predicted < 0 && len(c.scores) < 2 {
		return c, fmt.Errorf("the first line names no column %s and %s (or %s0, %[3]s1 ...)", fileNames[0], predictedNames[0], scorePrefix)
	}
	return c, nil
}

func (e *External) fromCSV(b []byte, set *dataset.Set) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff"))))
	rows, err := r.ReadAll()
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.New("is empty")
	}
	c, err := findColumns(rows[0])
	if err != nil {
		return err
	}
	at := make(map[string]int, len(set.Samples))
	classes := len(set.Classes)
	for i, x := range set.Samples {
		at[x.Name] = i
		classes = max(classes, x.Class+1)
	}
	e.hard, e.timed = len(c.scores) < 2, c.ms >= 0
	predicted := make([]int, len(e.outcomes))
	found := 0
	for n, row := range rows[1:] {
		i, ok := at[row[c.file]]
		if !ok || e.outcomes[i].scores != nil {
			continue // of samples that are not looked at
		}
		found++
		o := &e.outcomes[i]
		if c.ms >= 0 {
			ms, err := strconv.ParseFloat(row[c.ms], 64)
			if err != nil {
				return fmt.Errorf("line %d: %q is no time in ms", n+2, row[c.ms])
			}
			o.took = milliseconds(ms)
		}
		if e.hard {
			o.scores = []float32{}
			if predicted[i], err = classOf(row[c.predicted], set); err != nil {
				return fmt.Errorf("line %d: %w", n+2, err)
			}
			classes = max(classes, predicted[i]+1)
			continue
		}
		for _, k := range c.scores {
			v, err := strconv.ParseFloat(row[k], 32)
			if err != nil {
				return fmt.Errorf("line %d: %q is no score", n+2, row[k])
			}
			o.scores = append(o.scores, float32(v))
		}
	}
	if found < len(e.outcomes) {
		missing := slices.IndexFunc(e.outcomes, func(o outcome) bool { return o.scores == nil })
		return fmt.Errorf("%d of %s are not in it, such as %s", len(e.outcomes)-found, spelling.Count(len(e.outcomes), "sample"), set.Samples[missing].Name)
	}
	e.classes = len(c.scores)
	if e.hard {
		e.classes = max(classes, 2)
		for i := range e.outcomes {
			e.outcomes[i].scores = make([]float32, e.classes)
			e.outcomes[i].scores[predicted[i]] = 1
		}
	}
	return nil
}

// classOf reads a class by number or by name.
func classOf(text string, set *dataset.Set) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n >= maxScores {
			return 0, fmt.Errorf("class %d is outside 0..%d", n, maxScores-1)
		}
		return n, nil
	}
	if i := slices.Index(set.Classes, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%q is none of the %s%s", text, spelling.Count(len(set.Classes), "class"), spelling.Hint(text, set.Classes))
}
