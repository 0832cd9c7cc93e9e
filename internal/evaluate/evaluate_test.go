package evaluate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"lathe"
	"lathe/internal/dataset"
	"lathe/internal/evaluate"
	"lathe/internal/tool/picture"
)

const demo = "../../examples/demo/"

// compiled is the demo network at two levels.
var compiled = sync.OnceValues(func() (packages map[string][]byte, err error) {
	packages = map[string][]byte{}
	m, err := lathe.Load(demo+"digits.onnx", lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	for _, level := range []lathe.OptLevel{lathe.O0, lathe.O3} {
		p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{OptLevel: level})
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "lathe")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		if err := p.Save(dir + "/p.tar"); err != nil {
			return nil, err
		}
		if packages["O"+string(level)], err = os.ReadFile(dir + "/p.tar"); err != nil {
			return nil, err
		}
	}
	return packages, nil
})

// job evaluates the demo network at two levels on its data set, in a folder of its own.
func job(t *testing.T, data string) *evaluate.Job {
	t.Helper()
	packages, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(data, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	settings, _ := picture.FindPreset("signed")
	j := &evaluate.Job{Set: set, Settings: settings, Results: t.TempDir()}
	for _, name := range []string{"O0", "O3"} {
		path := filepath.Join(t.TempDir(), name+".tar")
		if err := os.WriteFile(path, packages[name], 0o666); err != nil {
			t.Fatal(err)
		}
		j.Variants = append(j.Variants, &evaluate.Variant{Name: name, Model: demo + "digits.onnx", Package: path, Threads: 1})
	}
	return j
}

func run(t *testing.T, j *evaluate.Job) *evaluate.Report {
	t.Helper()
	r, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The demo network knows at least 95 of 100 pictures of fonts that it has not seen; both levels see the same, and what is written
// can be read again as predictions of another engine, which then has the same bits.
func TestEvaluate(t *testing.T) {
	j := job(t, demo+"glyphs")
	j.Lab = true
	r := run(t, j)
	base, other := r.Variants[0], r.Variants[1]
	for _, v := range r.Variants {
		if v.Error != "" || v.Samples != 108 || v.Quality.Accuracy.Value < 0.95 || v.Times.Median <= 0 || v.Sizes.Weights == 0 || v.Lab["accuracy"] != v.Quality.Accuracy.Value {
			t.Errorf("%+v", v)
		}
	}
	if base.Against != nil || other.Against.Agreement.Value < 0.99 || *other.Against.SQNR < 100 || other.Speedup <= 0 {
		t.Errorf("%+v, %+v", base.Against, other.Against)
	}
	for _, name := range []string{"results.json", "summary.md", "report.html", "O0-metrics.md", "O0-confusion-matrix.png", "O0-confusion-matrix.svg", "O3-predictions.csv", "O3-log.txt"} {
		if b, err := os.ReadFile(filepath.Join(j.Results, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	e, err := evaluate.ReadPredictions("theirs", filepath.Join(j.Results, "O0-predictions.csv"), j.Set)
	if err != nil {
		t.Fatal(err)
	}
	again := job(t, demo+"glyphs")
	again.External = []*evaluate.External{e}
	theirs := run(t, again).Variants[2]
	if !theirs.Against.Equal || !reflect.DeepEqual(theirs.Quality, base.Quality) || theirs.Sizes != nil {
		t.Errorf("%+v", theirs.Against)
	}
}

// What is done before an interruption is kept and reported, and is not done again; the figures are the same in the end.
func TestInterrupted(t *testing.T) {
	whole := run(t, job(t, demo+"glyphs"))
	j := job(t, demo+"glyphs")
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	j.Progress = func(_ string, done, total int) {
		if runs++; done >= 40 {
			cancel()
		}
	}
	r, err := j.Run(ctx)
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if n := r.Variants[0].Samples + r.Variants[1].Samples; n < 40 || n > 80 {
		t.Errorf("%d samples", n)
	}
	summary, err := os.ReadFile(filepath.Join(j.Results, "summary.md"))
	if err != nil || !strings.Contains(string(summary), "Interrupted: ") {
		t.Errorf("%v in %s", err, summary)
	}
	least := 1 << 30
	j.Progress = func(_ string, done, total int) { least = min(least, done) }
	r = run(t, j)
	if least < 40 {
		t.Errorf("%d samples were done when it went on", least)
	}
	for i, v := range r.Variants {
		if !reflect.DeepEqual(v.Quality, whole.Variants[i].Quality) {
			t.Errorf("%s: %+v, want %+v", v.Name, v.Quality, whole.Variants[i].Quality)
		}
	}
	least = 1 << 30
	if run(t, j); least < 1<<30 {
		t.Errorf("a finished evaluation runs samples again, from %d on", least)
	}
}

// A sample that is no picture is named and left out; a variant that is no package is named, and the other goes on.
func TestFaults(t *testing.T) {
	data := t.TempDir()
	if err := os.CopyFS(filepath.Join(data, "0"), os.DirFS(demo+"glyphs/0")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "0", "broken.png"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	j := job(t, data)
	if err := os.WriteFile(j.Variants[0].Package, []byte("no package"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := run(t, j)
	if r.Variants[0].Error == "" || r.Variants[1].Error != "" || r.Variants[1].Samples != 3 {
		t.Errorf("%+v, %+v", r.Variants[0], r.Variants[1])
	}
	if len(r.Data.Bad) != 1 || r.Data.Bad[0].Name != "0/broken.png" || !strings.Contains(r.Data.Bad[0].Error, "is not a PNG") {
		t.Errorf("%+v", r.Data.Bad)
	}
	if m := r.Variants[1].Quality.Means; len(m.Absent) != 35 || m.Recall == 0 {
		t.Errorf("%+v", m)
	}
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v", err)
	}
}

func TestMistakes(t *testing.T) {
	many := t.TempDir()
	for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzABCD" {
		if err := os.CopyFS(filepath.Join(many, string(c)), os.DirFS(demo+"glyphs/0")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		data   string
		change func(*evaluate.Job)
		want   string
	}{
		{demo + "glyphs", func(j *evaluate.Job) { j.Variants = nil }, "nothing to evaluate"},
		{demo + "glyphs", func(j *evaluate.Job) { j.Variants[1].Name = "O0" }, "two variants are called O0"},
		{demo + "glyphs", func(j *evaluate.Job) { j.Variants[1].Name = "../x" }, "cannot be the name of files"},
		{demo + "glyphs", func(j *evaluate.Job) { j.Baseline = "O4" }, "the baseline O4 is none"},
	} {
		j := job(t, c.data)
		c.change(j)
		if _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	j := job(t, many)
	if r := run(t, j); !strings.Contains(r.Variants[0].Error, "36 classes, and the data set 40") {
		t.Errorf("%+v", r.Variants[0])
	}
	j = job(t, demo+"glyphs")
	j.Scores = "scores"
	if r := run(t, j); !strings.Contains(r.Variants[0].Error, `no output "scores"`) {
		t.Errorf("%+v", r.Variants[0])
	}
	j = job(t, demo+"glyphs")
	j.Settings.Layout = picture.NHWC // which the input has not
	if _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "for layout NHWC") {
		t.Errorf("no sample is an input: %v", err)
	}
}
