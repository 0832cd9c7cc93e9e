package evaluate

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/evaluate/metrics"
)

// A Report is results.json. Keys are added, never renamed.
type Report struct {
	Lathe    string           `json:"lathe"`
	Date     string           `json:"date"` // RFC 3339
	Machine  Machine          `json:"machine"`
	Data     DataReport       `json:"data"`
	Baseline string           `json:"baseline"`
	Variants []*VariantReport `json:"variants"`
	lab      bool
}

// Machine is what the variants ran on.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	System string `json:"system"`
}

// DataReport is what was evaluated.
type DataReport struct {
	Path     string      `json:"path"`
	Kind     string      `json:"kind"`
	Samples  int         `json:"samples"`
	Labelled bool        `json:"labelled"`
	Classes  []string    `json:"classes"`
	Notes    []string    `json:"notes,omitempty"`
	Bad      []BadSample `json:"bad,omitempty"` // that are left out
}

// VariantReport is what is known of a variant.
type VariantReport struct {
	Name     string             `json:"name"`
	Model    string             `json:"model"`
	Options  Options            `json:"options,omitempty"`
	Target   string             `json:"target,omitempty"`
	Threads  int                `json:"threads,omitempty"`
	Error    string             `json:"error,omitempty"`
	Samples  int                `json:"samples"` // evaluated
	Quality  *Quality           `json:"quality,omitempty"`
	Against  *Comparison        `json:"against_baseline,omitempty"`
	Times    *metrics.Times     `json:"times_ms,omitempty"`
	Speedup  float64            `json:"times_as_fast,omitempty"` // as the baseline, by medians
	Sizes    *Sizes             `json:"sizes_bytes,omitempty"`
	Causes   []Cause            `json:"causes,omitempty"` // of lost time
	Notes    []string           `json:"notes,omitempty"`
	Lab      map[string]float64 `json:"lab,omitempty"`
	matrix   *metrics.Confusion
	rows     []prediction
	classes  []string
	outcomes []outcome
	hard     bool
	integer  bool // scores are integers: their energy does not compare with others'
}

// Quality is how often a variant is right.
type Quality struct {
	Accuracy metrics.Interval  `json:"accuracy"`
	Top5     *metrics.Interval `json:"top5,omitempty"` // where there are more than five classes, and scores
	Means    metrics.Means     `json:"means"`
	Classes  []metrics.Class   `json:"classes"`
}

// Sizes are in bytes.
type Sizes struct {
	Source  int64 `json:"source"` // the model file
	Package int64 `json:"package"`
	Library int64 `json:"library"`
	Weights int64 `json:"weights"`
	Memory  int64 `json:"memory"` // of a run, but for the weights
}

// A prediction is a row of NAME-predictions.csv.
type prediction struct {
	file      string
	label     int
	predicted int
	rank      int // of the label among the scores, from 1 on; 0: not known
	took      time.Duration
	scores    []float32
}

// report sums up what the runners have recorded.
func (j *Job) report(runners []*runner, interrupted bool) (*Report, error) {
	r := &Report{
		Lathe: j.Version, Date: j.Date.Format(time.RFC3339), Machine: machine(), Baseline: j.Baseline, lab: j.Lab,
		Data: DataReport{Path: j.Set.Path, Kind: j.Set.Kind, Samples: len(j.Set.Samples), Labelled: j.Set.Labelled(), Notes: j.Set.Notes},
	}
	open := map[*Variant]*runner{}
	for _, run := range runners {
		open[run.Variant] = run
	}
	bad := map[int]bool{}
	for _, v := range j.Variants {
		vr := &VariantReport{Name: v.Name, Model: v.Model, Options: v.Options}
		r.Variants = append(r.Variants, vr)
		run := open[v]
		if v.Err != nil || run == nil {
			vr.Error = v.Err.Error()
			continue
		}
		vr.Target, vr.Threads, vr.hard = run.module.Info().Target.String, run.module.Workers(), run.hard
		vr.integer = run.integer
		outcomes, err := run.records.all(run.records.done)
		if err != nil {
			return nil, err
		}
		j.sum(vr, outcomes, run.classes, bad)
		if vr.Samples > 0 && !interrupted {
			if err := j.explain(vr, run); err != nil {
				return nil, err
			}
		}
		if vr.Sizes, err = sizes(v); err != nil {
			return nil, err
		}
		vr.Sizes.Memory = run.module.Memory().Run
	}
	for _, e := range j.External {
		vr := &VariantReport{Name: e.Name, Model: e.Path, hard: e.hard}
		r.Variants = append(r.Variants, vr)
		j.sum(vr, e.outcomes, e.classes, bad)
		if !e.timed {
			vr.Times = nil
		}
	}
	r.compare()
	return r, j.badSamples(r, bad)
}

// sum computes quality and times of outcomes.
func (j *Job) sum(v *VariantReport, outcomes []outcome, classes int, bad map[int]bool) {
	matrix := metrics.NewConfusion(classes)
	top5, labelled := 0, 0
	var ms []float64
	for i, o := range outcomes {
		if o.scores == nil {
			bad[i] = true
			continue
		}
		x := j.Set.Samples[i]
		p := prediction{file: x.Name, label: x.Class, predicted: metrics.Best(o.scores), took: o.took, scores: o.scores}
		if x.Class >= 0 {
			labelled++
			matrix.Add(x.Class, p.predicted)
			if p.rank = metrics.Rank(o.scores, x.Class) + 1; p.rank <= 5 {
				top5++
			}
		}
		if v.hard {
			p.rank, p.scores = 0, nil
		}
		v.rows = append(v.rows, p)
		ms = append(ms, float64(o.took)/float64(time.Millisecond))
	}
	v.Samples, v.outcomes = len(v.rows), outcomes
	for c := range classes {
		v.classes = append(v.classes, j.Set.ClassName(c))
	}
	if len(ms) > 0 {
		v.Times = metrics.Summarise(ms)
	}
	if labelled == 0 {
		return
	}
	q := &Quality{Accuracy: metrics.Wilson(matrix.Hits(), labelled), Classes: matrix.PerClass()}
	for i := range q.Classes {
		k := &q.Classes[i]
		k.Name = v.classes[i]
		if !v.hard && k.Support > 0 {
			k.AUC = auc(v.rows, i)
		}
	}
	q.Means = metrics.Mean(q.Classes)
	if classes > 5 && !v.hard {
		t := metrics.Wilson(top5, labelled)
		q.Top5 = &t
	}
	v.Quality, v.matrix = q, matrix
	if j.Lab {
		l := matrix.LabOf(top5)
		v.Lab = map[string]float64{}
		for name, value := range map[string]float64{"accuracy": l.Accuracy, "mean_precision": l.Precision, "mean_sensitivity": l.Sensitivity, "g_mean": l.GMean, "top5": l.Top5} {
			if !math.IsNaN(value) {
				v.Lab[name] = value
			}
		}
	}
}

// auc is that of a class against all others.
func auc(rows []prediction, class int) float64 {
	scores, positive := make([]float32, 0, len(rows)), make([]bool, 0, len(rows))
	for _, p := range rows {
		if p.label >= 0 {
			scores, positive = append(scores, p.scores[class]), append(positive, p.label == class)
		}
	}
	return metrics.AUC(scores, positive)
}

// sizes of a variant's files.
func sizes(v *Variant) (*Sizes, error) {
	p, err := bundle.Inspect(v.Package)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	from, to := p.Weights()
	s := &Sizes{Library: int64(len(p.Library) - (to - from)), Package: fileSize(v.Package)}
	for _, c := range p.Params {
		s.Weights += int64(len(c.Data))
	}
	s.Source = fileSize(v.Source...)
	return s, nil
}

// fileSize is that of files, and of all that folders hold, each once.
func fileSize(paths ...string) (size int64) {
	seen := map[string]bool{}
	for _, path := range paths {
		filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if file = filepath.Clean(file); err != nil || d.IsDir() || seen[file] {
				return err
			}
			if st, err := os.Stat(file); err == nil {
				size, seen[file] = size+st.Size(), true
			}
			return nil
		})
	}
	return size
}
