package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
)

// labels is a list of labels, with the files they are for where the list names them.
type labels struct {
	files []string
	texts []string // a number or a name for each
}

func (l *labels) named() bool { return l.files != nil }

// Names of columns in the first line of a list.
var (
	fileColumns  = []string{"file", "filename", "file_name", "image", "path", "name", "sample"}
	labelColumns = []string{"label", "labels", "class", "class_name", "category", "target", "y"}
)

// maxLabels bounds the file of labels.
const maxLabels = 64 << 20

// readLabels reads a list in .csv or text, or an array in .npy or .npz.
func readLabels(path string) (*labels, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	if st.Size() > maxLabels {
		return nil, fmt.Errorf("labels: %s has %s, which no list of labels takes", path, spelling.Count(st.Size(), "byte"))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	l, err := parseLabels(b)
	if err != nil {
		return nil, fmt.Errorf("labels %s: %w", path, err)
	}
	return l, nil
}

func parseLabels(b []byte) (*labels, error) {
	if bytes.HasPrefix(b, []byte("\x93NUMPY")) || bytes.HasPrefix(b, []byte("PK")) {
		arrays, err := npz.Read(b)
		if err != nil {
			return nil, err
		}
		for _, a := range arrays {
			if len(arrays) > 1 && !slices.Contains(labelColumns, strings.ToLower(a.Name)) {
				continue
			}
			classes, err := classesOf(a)
			if err != nil {
				return nil, err
			}
			l := &labels{}
			for _, c := range classes {
				l.texts = append(l.texts, strconv.Itoa(c))
			}
			return l, nil
		}
		return nil, fmt.Errorf("no array is called %s", strings.Join(labelColumns, ", "))
	}
	return parseList(b)
}

// parseList reads lines "label", "file,label" or "file,classes,label" (MLPerf Tiny's), or any columns that the first line
// names.
func parseList(b []byte) (*labels, error) {
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errors.New("is no text")
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff"))))
	r.Comment, r.TrimLeadingSpace, r.FieldsPerRecord, r.LazyQuotes = '#', true, -1, true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("is empty")
	}
	width := len(rows[0])
	file, label := 0, width-1
	if width > 3 {
		file, label = -1, -1
	}
	column := func(names []string) int {
		return slices.IndexFunc(rows[0], func(c string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(c))) })
	}
	if l := column(labelColumns); l >= 0 {
		if f := column(fileColumns); f >= 0 || width == 1 {
			file, label, rows = f, l, rows[1:]
		}
	}
	if file < 0 && width > 1 {
		return nil, errors.New("has more than three columns, and the first line does not name file and label")
	}
	l := &labels{}
	for i, row := range rows {
		if len(row) <= max(file, label) {
			return nil, fmt.Errorf("line %d has %s, and the first has %d", i+1, spelling.Count(len(row), "column"), width)
		}
		l.texts = append(l.texts, strings.TrimSpace(row[label]))
		if width > 1 {
			l.files = append(l.files, strings.TrimSpace(row[file]))
		}
	}
	return l, nil
}

// classes turns labels into numbers. Names are those of the classes; where there are none the labels give them, in
// alphabetical order.
func (l *labels) classes(s *Set, o Options) ([]int, error) {
	numbers := make([]int, len(l.texts))
	names := o.Classes
	if names == nil {
		names = s.Classes
	}
	for i, text := range l.texts {
		n, err := strconv.Atoi(text)
		if err != nil {
			return l.byName(s, names)
		}
		if n < -maxClasses || n > maxClasses {
			return nil, fmt.Errorf("label %d is no class", n)
		}
		if numbers[i] = n + o.Offset; numbers[i] < 0 {
			return nil, fmt.Errorf("label %d becomes class %d, and classes begin at 0", n, numbers[i])
		}
	}
	return numbers, nil
}

func (l *labels) byName(s *Set, names []string) ([]int, error) {
	if names == nil {
		names = slices.Clone(l.texts)
		slices.Sort(names)
		names = slices.Compact(names)
		s.Classes = names
	}
	known := make(map[string]int, len(names))
	for i, name := range names {
		known[name] = i
	}
	numbers := make([]int, len(l.texts))
	for i, text := range l.texts {
		n, ok := known[text]
		if !ok {
			return nil, fmt.Errorf("label %q is none of the %s%s", text, spelling.Count(len(names), "class"), spelling.Hint(text, names))
		}
		numbers[i] = n
	}
	return numbers, nil
}

// list adds the samples of a list that names files, below a folder.
func (s *Set) list(dir string, l *labels, o Options) error {
	classes, err := l.classes(s, o)
	if err != nil {
		return err
	}
	for i, name := range l.files {
		file := filepath.FromSlash(name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		s.Samples = append(s.Samples, Sample{Name: name, Class: classes[i], file: file})
	}
	return nil
}

// label adds samples in order, with labels by position or by the names that a list gives.
func (s *Set) label(names []string, l *labels, o Options, sample func(i int) Sample) error {
	classes, err := l.classes(s, o)
	if err != nil {
		return err
	}
	if l.named() {
		at := make(map[string]int, len(l.files))
		for i, f := range l.files {
			at[f] = i
		}
		ordered := make([]int, len(names))
		for i, name := range names {
			j, ok := at[name]
			if !ok {
				return fmt.Errorf("%s has no label", name)
			}
			ordered[i] = classes[j]
		}
		classes = ordered
	}
	if len(classes) != len(names) {
		return fmt.Errorf("there are %s for %s", spelling.Count(len(classes), "label"), spelling.Count(len(names), "sample"))
	}
	for i := range names {
		x := sample(i)
		x.Class = classes[i]
		s.Samples = append(s.Samples, x)
	}
	return nil
}

// openList takes a list "file,label" whose files are below its folder.
func openList(path string, dir bool, o Options) (*Set, bool, error) {
	if ext := strings.ToLower(filepath.Ext(path)); dir || ext != ".csv" && ext != ".txt" {
		return nil, false, nil
	}
	l, err := readLabels(path)
	if err != nil {
		return nil, false, err
	}
	if !l.named() {
		return nil, false, errors.New("the list names no files (a line is file,label)")
	}
	s := &Set{read: readAny}
	return s, true, s.list(filepath.Dir(path), l, o)
}

// readAny reads a file that a list names: a picture, arrays, or raw bytes.
func readAny(x Sample) (Value, error) {
	switch ext := strings.ToLower(filepath.Ext(x.file)); {
	case isPicture(x.file):
		return readPicture(x)
	case ext == ".npy" || ext == ".npz":
		arrays, err := npz.ReadFile(x.file)
		return Value{Arrays: arrays}, err
	}
	return readRaw(x)
}
