package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lathe/internal/choice"
	"lathe/internal/host"
	"lathe/internal/records"
	"lathe/internal/tune"
)

// A qualityReport is how good searches were.
type qualityReport struct {
	Time           time.Time
	CPU            string
	Random, Trials int
	Wrong          bool
	Rows           []qualityRow
	Networks       []correctedRow
}

// A qualityRow is a kernel.
type qualityRow struct {
	searched
	Kernel         string
	Random, Trials int           // points that were tried
	Tuned, Other   tune.Estimate // time over that of the rules': of the tuner's best, and of what it is compared with
	Ratio          tune.Estimate // time of the tuner's best over that of what it is compared with
	Changed        choice.Point  // of the other's best

	key                     string
	tuned, other, finalists []records.Record
}

func newQualityReport(s *qualitySettings) *qualityReport {
	return &qualityReport{Time: time.Now().UTC().Truncate(time.Second), CPU: host.CPUName(), Random: s.random, Trials: s.trials, Wrong: s.wrong}
}

// choose keeps of both sides what was fastest when they met first. As a tuning confirms, the rules' own stays where nothing was faster than it;
// with facts that are wrong the rules' own is no side, and what is slower than it counts as that.
func (r *qualityRow) choose(met []records.Record, wrong bool) []records.Record {
	r.tuned, r.other = r.fastest(met, r.tuned, wrong), r.fastest(met, r.other, wrong)
	return slices.Concat(r.tuned, r.other)
}

// fastest is the fastest of a side; unless it may be slow, none where the rules' own is faster.
func (r *qualityRow) fastest(met, side []records.Record, slow bool) []records.Record {
	var own []records.Record
	for _, m := range met {
		if m.Kernel == r.key && m.Fault == records.None && slices.ContainsFunc(side, func(s records.Record) bool { return same(s, m) }) {
			own = append(own, m)
		}
	}
	if !slow {
		return best(own, 1)
	}
	slices.SortStableFunc(own, func(a, b records.Record) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return own[:min(1, len(own))]
}

// compare compares what met last. Who has no point has the rules'.
func (r *qualityRow) compare(met []records.Record) {
	samples := func(side []records.Record) (m records.Record, ok bool) {
		for _, m = range met {
			if len(side) > 0 && m.Kernel == r.key && same(side[0], m) && len(m.Times) > 0 {
				return m, true
			}
		}
		return m, false
	}
	one := tune.Estimate{Ratio: 1, Low: 1, High: 1}
	r.Tuned, r.Other, r.Ratio = one, one, one
	t, hasTuned := samples(r.tuned)
	o, hasOther := samples(r.other)
	over := func(a, b []float64) tune.Estimate { return tune.Estimated(tune.Ratios(a, b), 0.9) }
	if hasTuned {
		r.Tuned = over(t.Times, t.Host)
	}
	if hasOther {
		r.Other, r.Changed = over(o.Times, o.Host), o.Point
	}
	switch {
	case hasTuned && hasOther && !same(t, o):
		r.Ratio = over(t.Times, o.Times)
	case hasTuned && !hasOther:
		r.Ratio = r.Tuned
	case hasOther && !hasTuned:
		r.Ratio = over(o.Host, o.Times)
	}
}

// same reports records of one point.
func same(a, b records.Record) bool {
	return a.Kernel == b.Kernel && fmt.Sprint(a.Point) == fmt.Sprint(b.Point)
}

// verdict is the ratio that has to be within the limit: with wrong facts that to the rules' of the right ones.
func (r *qualityReport) verdict(row qualityRow) tune.Estimate {
	if r.Wrong {
		return row.Tuned
	}
	return row.Ratio
}

func (r qualityRow) String() string {
	return fmt.Sprintf("%-32s %-14s rules 1, other %.3f, tuned %.3f; tuned over other %.3f (%.3f-%.3f); %d and %d points; %v", r.Kind, r.Model, r.Other.Ratio, r.Tuned.Ratio,
		r.Ratio.Ratio, r.Ratio.Low, r.Ratio.High, r.Random, r.Trials, r.Changed)
}

// markdown writes the table.
func (r *qualityReport) markdown(w io.Writer) {
	if len(r.Rows) > 0 {
		r.kernelTable(w)
	}
	correctedTable(w, r.Networks)
}

// kernelTable writes the rows of kernels.
func (r *qualityReport) kernelTable(w io.Writer) {
	head, other := fmt.Sprintf("the best of %d points at random", r.Random), "at random"
	if r.Wrong {
		head, other = "what the rules choose with these facts, untuned", "wrong, untuned"
	}
	fmt.Fprintf(w, "%s. Times of one worker's share over those of the rules' own kernels, by medians of pairs; the tuner had %d trials; beside it %s.\n\n", r.CPU, r.Trials, head)
	fmt.Fprintf(w, "| kernel | of | %s | tuned | tuned, bounds of 90 %% | within 3 %% |\n| --- | --- | ---: | ---: | --- | --- |\n", other)
	for _, row := range r.Rows {
		v, is := r.verdict(row), "yes"
		if v.Ratio > within {
			is = "no"
		}
		fmt.Fprintf(w, "| %s | %s | %.3f | %.3f | %.3f (%.3f-%.3f) | %s |\n", row.Kind, row.Model, row.Other.Ratio, row.Tuned.Ratio, v.Ratio, v.Low, v.High, is)
	}
}

// write saves the table.
func (r *qualityReport) write(folder string) error {
	name := "quality-"
	if r.Wrong {
		name = "quality-wrong-"
	}
	f, err := os.Create(filepath.Join(folder, name+r.Time.Format("20060102-150405")+".md"))
	if err != nil {
		return err
	}
	r.markdown(f)
	return f.Close()
}

// tell prints the table, and fails where the tuner found too little.
func (r *qualityReport) tell(folder string) error {
	fmt.Println()
	r.markdown(os.Stdout)
	fmt.Println("\nrecords are in " + folder)
	for _, row := range r.Rows {
		if v := r.verdict(row); v.Low > within {
			return errors.New(row.Kind + " of " + row.Model + ": what the tuner found is surely not within 3 %")
		}
	}
	for _, row := range r.Networks {
		if row.Tuned.Low > within && !row.Same {
			return errors.New(row.Model + ": tuned with wrong facts it is surely not within 3 % of the right ones")
		}
	}
	return nil
}
