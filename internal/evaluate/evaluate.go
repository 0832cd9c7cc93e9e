// Package evaluate compares variants of classifiers on a data set: how often they are right, how fast they are, how large, and
// what makes them slow. A variant is a package, whatever model it was compiled from; who compiles is the caller's matter.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/dataset"
	"lathe/internal/host"
	"lathe/internal/tool/picture"
	"lathe/runtime"
)

// A Variant is one package to evaluate.
type Variant struct {
	Name    string
	Model   string   // file that it was compiled from, or the package itself
	Source  []string // files of the model, its companions among them; nil where there is none
	Options Options
	Package string
	Threads int // 0: as the runtime takes
	// Free is the manifest of the same model and options without a desired layout; nil where none was asked for.
	Free *bundle.Manifest
	// Refusals are what external code generators did not take.
	Refusals []Refusal
	Err      error // why there is no package
}

// A Refusal is why an external code generator does not take an operator, of some nodes of the model.
type Refusal struct {
	Generator, Operator, Reason string
	Nodes                       []string
}

// A Job is an evaluation.
type Job struct {
	Set      *dataset.Set
	Settings picture.Settings // of pictures
	Raw      dataset.Raw      // what whole numbers of samples are
	Variants []*Variant
	External []*External
	Baseline string         // name of the variant that others are compared with; "": the first
	Scores   string         // output that holds the scores; "": the first
	Results  string         // folder
	Lab      bool           // the figures of a course beside the right ones, see metrics.Lab
	Levels   map[string]int // of optimisation, from which on passes run, by their names
	Version  string         // of the program
	Date     time.Time
	Progress func(phase string, done, total int)
}

// Folders within the results.
const (
	recordFolder  = "records"
	PackageFolder = "packages"
)

func (j *Job) progress(done, total int) {
	if j.Progress != nil {
		j.Progress("evaluating", done, total)
	}
}

// Run evaluates the variants and writes the results. A variant that fails is in the report with its error, and the others go on.
// When ctx ends, what is done is kept and reported, and the error is that of ctx; the same job goes on where it ended.
func (j *Job) Run(ctx context.Context) (*Report, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(j.Results, recordFolder), 0o777); err != nil {
		return nil, err
	}
	var runners []*runner
	defer func() {
		for _, r := range runners {
			r.close()
		}
	}()
	for _, v := range j.Variants {
		if v.Err != nil {
			continue
		}
		r, err := j.open(v)
		if err != nil {
			v.Err = err
			continue
		}
		runners = append(runners, r)
	}
	err := j.runAll(ctx, runners)
	interrupted := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
	if err != nil && !interrupted {
		return nil, err
	}
	report, err := j.report(runners, interrupted)
	if err != nil {
		return nil, err
	}
	if err := report.Write(j.Results); err != nil {
		return nil, err
	}
	if interrupted {
		return report, ctx.Err()
	}
	return report, nil
}

// check refuses names that are there twice and a baseline that is not.
func (j *Job) check() error {
	var names []string
	for _, v := range j.Variants {
		names = append(names, v.Name)
	}
	for _, e := range j.External {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return errors.New("there is nothing to evaluate (name a model or a package)")
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("two variants are called %s (name them in a configuration)", n)
		}
		if n != fileName(n) {
			return fmt.Errorf("%q cannot be the name of files", n)
		}
	}
	if j.Baseline = cmp.Or(j.Baseline, names[0]); !slices.Contains(names, j.Baseline) {
		return fmt.Errorf("the baseline %s is none of the variants %v", j.Baseline, names)
	}
	return nil
}

// profileTime is how long the steps of a variant are measured, about.
const profileTime = 300 * time.Millisecond

// profile measures the steps of a variant on its first sample.
func (r *runner) profile(j *Job, outcomes []outcome) (*runtime.Profile, error) {
	first := slices.IndexFunc(outcomes, func(o outcome) bool { return o.scores != nil })
	if err := r.set(&blockOf{job: j, first: first, values: make([]loaded, 1)}, first); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := r.module.Run(); err != nil {
		return nil, err
	}
	return r.module.Profile(int(min(max(profileTime/(2*max(time.Since(start), 1)), 3), 200)))
}

// machine is what the variants ran on.
func machine() Machine {
	return Machine{CPU: host.CPUName(), Cores: runtime.CPUs(), System: goruntime.GOOS + "/" + goruntime.GOARCH}
}
