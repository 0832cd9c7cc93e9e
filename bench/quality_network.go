package main

import (
	"context"
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
	m, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		return nil, err
	}
	output := filepath.Join(work, "wrong.records")
	row, from := &correctedRow{Model: modelName(model)}, time.Now()
	found, err := lathe.Tune(ctx, m, lathe.TuneOptions{Target: wrong, Output: output, Trials: 1000, Number: 10, Time: s.time, Seed: uint64(s.seed), Graph: true})
	if err != nil {
		return nil, err
	}
	row.Seconds, row.Threads = time.Since(from).Seconds(), found.Workers
	packs := make([]string, 3)
	for i, o := range []lathe.CompileOptions{{Target: resolved.Target}, {Target: wrong}, {Target: wrong, Records: []string{output}}} {
		if m, err = lathe.Load(model, lathe.LoadOptions{}); err != nil {
			return nil, err
		}
		p, err := lathe.Compile(ctx, m, o)
		if err != nil {
			return nil, err
		}
		packs[i] = filepath.Join(work, fmt.Sprintf("%d.tar", i))
		if err := p.Save(packs[i]); err != nil {
			return nil, err
		}
	}
	if row.Same, err = sameFiles([2]string{packs[0], packs[2]}); err != nil {
		return nil, err
	}
	ratios, err := overFirst(ctx, packs, model, s.networkPairs, s.networkRuns)
	if err != nil {
		return nil, err
	}
	row.Wrong, row.Tuned = tune.Estimated(ratios[1], 0.9), tune.Estimated(ratios[2], 0.9)
	return row, nil
}

// overFirst are the times of packages over that of the first, by the quietest runs of fresh processes that take turns.
func overFirst(ctx context.Context, packs []string, model string, rounds, runs int) ([][]float64, error) {
	ratios := make([][]float64, len(packs))
	for round := range rounds {
		times := make([][]float64, len(packs))
		for k := range packs {
			which := (k + round) % len(packs)
			if err := runTimes(ctx, &times[which], packs[which], model, 0, runs); err != nil {
				return nil, err
			}
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
