package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"lathe/internal/target"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/machine"
	"lathe/internal/toolchain"
)

func (a *app) machineCommand() *cobra.Command {
	var asJSON, save bool
	cmd := &cobra.Command{
		Use:   "machine",
		Short: "measure this machine: the numbers by which schedules are chosen, and the best speeds to compare with",
		Long: `Measure this machine: the numbers by which schedules are chosen, and the best speeds to compare with. It takes
about four seconds, and is best done while nothing else runs.

  lathe machine           # what was measured beside what the compiler expects of this CPU
  lathe machine --save    # keep the numbers: --target llvm takes them from then on
  lathe machine --json

The numbers are kept in machine.json in the folder lathe of the user's configuration, or in the file that LATHE_MACHINE names,
until it is removed. They count for --target llvm on this machine only; a package says in its target which ones it was made by.`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.machine(cmd.Context(), asJSON, save) },
	}
	cli.JSONVar(cmd, &asJSON)
	cmd.Flags().BoolVar(&save, "save", false, "keep the numbers for --target llvm")
	return cmd
}

func (a *app) machine(ctx context.Context, asJSON, save bool) error {
	path := toolchain.MeasuredPath()
	if save && path == "" {
		return fmt.Errorf("machine: there is no folder for configurations (set LATHE_MACHINE to the file to write)")
	}
	probe, err := machine.Open(ctx)
	if err != nil {
		return err
	}
	defer probe.Close()
	host, err := toolchain.Processor()
	if err != nil {
		return err
	}
	measured := probe.Target.Measure(probe.Core())
	var peaks []machine.Peaks
	for _, threads := range []int{1, runtime.NumCPU()} {
		if len(peaks) == 0 || threads > 1 {
			peaks = append(peaks, probe.Measure(threads))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if save {
		if err := saveMeasured(ctx, path, measured); err != nil {
			return err
		}
	}
	spec, err := target.Parse("llvm")
	if err != nil {
		return err
	}
	host.Measured = measured
	here, err := spec.Resolve(func() (target.Host, error) { return host, nil })
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.Out, machineJSON{host.Machine.Name, here.String(), measured.Facts, expected(probe.Target), peaks})
	}
	return a.printMachine(host.Machine.Name, probe.Target, here, measured, peaks, save)
}

// expected are the facts of a target by name.
func expected(t *target.Target) map[string]int {
	all := map[string]int{}
	for _, name := range target.Facts() {
		all[name] = t.Fact(name)
	}
	return all
}

func saveMeasured(ctx context.Context, path string, m *target.Measured) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := atomicfile.Create(ctx, path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(append(text, '\n')); err != nil {
		return err
	}
	return f.Commit()
}

func (a *app) printMachine(name string, before, here *target.Target, m *target.Measured, peaks []machine.Peaks, saved bool) error {
	w := a.Table()
	w.Row("machine", name)
	w.Row("target", here.String())
	for _, p := range peaks {
		threads := strconv.Itoa(p.Threads) + " threads"
		if p.Threads == 1 {
			threads = "1 thread"
		}
		w.Row(threads, fmt.Sprintf("float32 %.0f GFLOP/s, int8 %s, memory %.1f GB/s", p.Float32(), p.Bytes(), p.Read))
	}
	w.Row()
	w.Row("OPTION", "MEASURED", "EXPECTED", "WHAT IT IS")
	for _, o := range target.Options("llvm") {
		n, ok := m.Facts[o.Name]
		if !ok {
			continue
		}
		w.Row("-"+o.Name, strconv.Itoa(n), strconv.Itoa(before.Fact(o.Name)), o.Doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch path := toolchain.MeasuredPath(); {
	case saved:
		a.Note("--target llvm takes these numbers from " + path)
	case path != "":
		a.Note("--save keeps these numbers for --target llvm")
	}
	return nil
}
