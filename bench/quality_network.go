package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lathe"
	"lathe/internal/tune"
)

// correctedNetworks are those of which much is decided by caches and units: strips, algorithms of convolutions, layouts.
var correctedNetworks = []string{"squeezenet1_1", "mobilenet_v2", "resnet18"}

// A correctedRow is a network that was tuned for a target with wrong facts, decisions on its graph included.
type correctedRow struct {
	Model   string
	Seconds float64       // of tuning
	Threads int           // that packages use
	Same    bool          // both packages are the same, byte for byte
	Wrong   tune.Estimate // its time over that for the right target, both untuned
	Tuned   tune.Estimate // likewise, tuned for the wrong one
}

// corrected makes the row of a network.
func (s *qualitySettings) corrected(ctx context.Context, model string) (*correctedRow, error) {
	work, err := os.MkdirTemp("", "lathe-quality-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	resolved, err := lathe.CompileOptions{}.Resolved()
	if err != nil {
		return nil, err
	}
	wrong, err := wrongFacts(resolved.Target)
	if err != nil {
		return nil, err
	}
	packs := []string{filepath.Join(work, "right.tar"), filepath.Join(work, "wrong.tar"), filepath.Join(work, "tuned.tar")}
	output := filepath.Join(work, "wrong.records")
	for i, target := range []string{resolved.Target, wrong} {
		if err := packed(ctx, model, packs[i], lathe.CompileOptions{Target: target}); err != nil {
			return nil, err
		}
	}
	row := &correctedRow{Model: modelName(model)}
	same, err := unmoved(func() (times []float64, err error) {
		err = runTimes(ctx, &times, packs[1], model, 0, s.networkRuns)
		return times, err
	}, func() ([]float64, error) {
		os.Remove(output)
		m, err := lathe.Load(model, lathe.LoadOptions{})
		if err != nil {
			return nil, err
		}
		from := time.Now()
		found, err := lathe.Tune(ctx, m, lathe.TuneOptions{Target: wrong, Output: output, Trials: 1000, Number: 10, Time: s.time, Seed: uint64(s.seed), Graph: true})
		if err != nil {
			return nil, err
		}
		row.Seconds, row.Threads = time.Since(from).Seconds(), found.Workers
		return found.HostRuns, nil
	})
	if err != nil {
		return nil, err
	}
	if err := packed(ctx, model, packs[2], lathe.CompileOptions{Target: wrong, Records: []string{output}}); err != nil {
		return nil, err
	}
	if row.Same, err = sameFiles([2]string{packs[0], packs[2]}); err != nil {
		return nil, err
	}
	ratios, err := s.overFirst(ctx, packs, model, same)
	if err != nil {
		return nil, err
	}
	row.Wrong, row.Tuned = tune.Estimated(ratios[1], 0.9), tune.Estimated(ratios[2], 0.9)
	return row, nil
}

// A hypervisor moves virtual cores to where they have a cache in common or none, for seconds or minutes: packages that are equal in one state are
// 8 % apart in the other, and their runs take 1.4 times as long.
const (
	moved     = 1.15 // a run's time over another, from where on it is another machine's
	mostMoved = 6    // times that what another machine began is repeated
)

// errMoved is of a machine that does not stay what it is for as long as a comparison takes.
var errMoved = errors.New("runs take other times in each round than while tuning: the machine's cores move (try again)")

// unmoved tunes until the runs that the tuning ends with are as fast as those before it. It returns what tells whether other runs are.
func unmoved(before, tuned func() ([]float64, error)) (same func(times []float64) bool, err error) {
	for range mostMoved {
		times, err := before()
		if err != nil {
			return nil, err
		}
		then := tune.Quietest(times)
		same = func(times []float64) bool {
			r := tune.Quietest(times) / then
			return r < moved && r > 1/moved
		}
		if ends, err := tuned(); err != nil || same(ends) {
			return same, err
		}
	}
	return nil, errMoved
}

// overFirst are the times of packages over that of the first, by the quietest runs of fresh processes that take turns, in rounds in which the
// second runs as it did before it was tuned.
func (s *qualitySettings) overFirst(ctx context.Context, packs []string, model string, same func(times []float64) bool) ([][]float64, error) {
	ratios := make([][]float64, len(packs))
	for round := 0; len(ratios[0]) < s.networkPairs; round++ {
		if round == mostMoved*s.networkPairs {
			return nil, errMoved
		}
		times := make([][]float64, len(packs))
		for k := range packs {
			which := (k + round) % len(packs)
			if err := runTimes(ctx, &times[which], packs[which], model, 0, s.networkRuns); err != nil {
				return nil, err
			}
		}
		if !same(times[1]) {
			continue
		}
		for i := range packs {
			ratios[i] = append(ratios[i], tune.Quiet(times[i], times[0]).Ratio)
		}
	}
	return ratios, nil
}

func (r correctedRow) String() string {
	return fmt.Sprintf("%-20s wrong %.3f (%.3f-%.3f), wrong and tuned %.3f (%.3f-%.3f), %s in %.0f s", r.Model, r.Wrong.Ratio, r.Wrong.Low, r.Wrong.High, r.Tuned.Ratio, r.Tuned.Low, r.Tuned.High,
		r.Standing(), r.Seconds)
}

// Standing says in words whether the tuning got back what the facts lost.
func (r correctedRow) Standing() string {
	switch {
	case r.Same:
		return "the same package"
	case r.Tuned.Ratio <= within:
		return "yes"
	}
	return "no"
}

// correctedTable writes the rows.
func correctedTable(w io.Writer, rows []correctedRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "\nNetworks, tuned with decisions on the graph. Times of whole runs over those of the network compiled for the right target and untuned, by fresh processes in turns, with bounds of 90 %.\n\n")
	fmt.Fprint(w, "| network | wrong, untuned | wrong, tuned | within 3 % | seconds |\n| --- | --- | --- | --- | ---: |\n")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %.3f (%.3f-%.3f) | %.3f (%.3f-%.3f) | %s | %.0f |\n", r.Model, r.Wrong.Ratio, r.Wrong.Low, r.Wrong.High, r.Tuned.Ratio, r.Tuned.Low, r.Tuned.High, r.Standing(), r.Seconds)
	}
}

// correctedAll makes the rows of networks that take part.
func (s *qualitySettings) correctedAll(ctx context.Context, r *qualityReport) error {
	if !s.wrong {
		return nil
	}
	files, err := findModels(s.networks, s.zoo)
	if err != nil || len(s.networks) == 0 {
		return err
	}
	for file := range slices.Values(files) {
		row, err := s.corrected(ctx, file)
		if err != nil {
			return fmt.Errorf("%s: %w", modelName(file), err)
		}
		r.Networks = append(r.Networks, *row)
		fmt.Println(row)
		if err := r.write(s.results); err != nil {
			return err
		}
	}
	return nil
}
