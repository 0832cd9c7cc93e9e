package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/choice"
	"lathe/internal/records"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/spelling"
)

// recordsFlags are the values of records' flags.
type recordsFlags struct {
	command     string
	files       []string
	output      string
	prune, diff bool
	asJSON      bool
	note        func(string)
}

func (a *app) recordsCommand() *cobra.Command {
	f := &recordsFlags{note: a.Note}
	cmd := &cobra.Command{
		Use:   "records FILE...",
		Short: "list, merge, prune and compare what lathe tune has found",
		Long: `List what is in files of records, a line for each kernel in each network; or write them into one file, or compare two.

  lathe records resnet50.json
  lathe records -o all.json resnet50.json mobilenet.json
  lathe records --prune -o small.json all.json
  lathe records --diff before.json after.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.command, f.files = cmd.CommandPath(), args
			return a.records(f)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	cli.OutputVarP(fs, &f.output, "output", "o", "", nil, "`file` to write all records to, each once, in the order of time")
	fs.BoolVar(&f.prune, "prune", false, "keep what a compiler takes, and leave out trials and what was taken back")
	fs.BoolVar(&f.diff, "diff", false, "compare two files: kernels for which they say different things")
	cli.JSONVar(cmd, &f.asJSON)
	return cmd
}

func (a *app) records(f *recordsFlags) error {
	switch {
	case len(f.files) == 0:
		return cli.Usagef(f.command, "a file of records is missing")
	case f.diff && len(f.files) != 2:
		return cli.Usagef(f.command, "flag --diff: two files are compared, and %s given", spelling.Count(len(f.files), "file"))
	case f.diff && (f.prune || f.output != ""):
		return cli.Usagef(f.command, "flag --diff: nothing is written")
	case f.prune && f.output == "":
		return cli.Usagef(f.command, "flag --prune: name a file to write with --output")
	}
	if f.diff {
		return a.diffRecords(f)
	}
	c, err := f.read(f.files...)
	if err != nil {
		return err
	}
	if f.output == "" {
		return a.listRecords(f, records.Summarise(c.Records))
	}
	list, err := records.Merge(c.Records)
	if err == nil && f.prune {
		list, err = records.Prune(list)
	}
	if err != nil {
		return err
	}
	if err := cli.WriteFile(f.output, func(w io.Writer) error { return records.Write(w, list) }); err != nil {
		return err
	}
	a.Log("%s: %s of %d", f.output, spelling.Count(len(list), "record"), len(c.Records))
	return nil
}

// read reads files and tells what could not be read.
func (f *recordsFlags) read(files ...string) (*records.Contents, error) {
	c, err := records.ReadFiles(files...)
	if err != nil {
		return nil, err
	}
	if c.Damaged > 0 {
		f.note("passed over: " + spelling.Count(c.Damaged, "line") + ", cut or no records")
	}
	if c.Newer > 0 {
		f.note("passed over: " + spelling.Count(c.Newer, "record") + " of later versions")
	}
	for _, writer := range slices.Sorted(maps.Keys(c.Foreign)) {
		f.note(fmt.Sprintf("passed over: %s of %s, for TVM (lathe tune --tuning-records starts from them)", spelling.Count(c.Foreign[writer], "line"), writer))
	}
	return c, nil
}

// listRecords prints a line for each kernel.
func (a *app) listRecords(f *recordsFlags, list []records.Summary) error {
	if f.asJSON {
		return cli.JSON(a.Out, recordData(list))
	}
	w := a.Table()
	w.Row("KERNEL", "NAME", "NETWORK", "TRIALS", "FAULTS", "STANDING", "GAIN", "BOUNDS", "POINT")
	for _, s := range list {
		w.Row(append([]any{short(s.Kernel), s.Name, short(s.Network), strconv.Itoa(s.Trials), strconv.Itoa(s.Faults)}, found(&s)...)...)
	}
	return w.Flush()
}

// found are the cells of what was found: standing, gain, bounds, point.
func found(s *records.Summary) []any {
	if s == nil {
		return []any{"-", "-", "-", "-"}
	}
	gain, bounds := "-", "-"
	if s.Ratio > 0 {
		gain = fmt.Sprintf("%.3f", 1/s.Ratio)
	}
	if s.Low > 0 && s.High > 0 {
		bounds = fmt.Sprintf("%.3f-%.3f", 1/s.High, 1/s.Low)
	}
	return []any{string(s.Standing), gain, bounds, pointText(s.Point)}
}

// diffRecords prints a line for each kernel for which two files say different things.
func (a *app) diffRecords(f *recordsFlags) error {
	var sides [2][]records.Record
	for i, path := range f.files {
		c, err := f.read(path)
		if err != nil {
			return err
		}
		sides[i] = c.Records
	}
	list := records.Diff(sides[0], sides[1])
	if f.asJSON {
		return cli.JSON(a.Out, differenceData(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Out, "both say the same")
		return err
	}
	w := a.Table()
	w.Row("KERNEL", "NAME", "NETWORK", "FILE", "STANDING", "GAIN", "BOUNDS", "POINT")
	for _, d := range list {
		of := d.A
		if of == nil {
			of = d.B
		}
		for i, s := range []*records.Summary{d.A, d.B} {
			w.Row(append([]any{short(of.Kernel), of.Name, short(of.Network), f.files[i]}, found(s)...)...)
		}
	}
	return w.Flush()
}

// short is the beginning of a digest.
func short(digest string) string { return digest[:min(len(digest), 8)] }

// pointText is a point in a line.
func pointText(p choice.Point) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		list = append(list, name+" "+p[name])
	}
	return strings.Join(list, ", ")
}

// recordInfo is a kernel in a network for --json.
type recordInfo struct {
	Kernel   string       `json:"kernel"`
	Name     string       `json:"name"`
	Network  string       `json:"network"`
	Target   string       `json:"target"`
	Class    string       `json:"class"`
	Workers  int          `json:"workers"`
	Trials   int          `json:"trials"`
	Faults   int          `json:"faults"`
	Standing string       `json:"standing"`
	Gain     cli.Number   `json:"gain"`
	Point    []recordItem `json:"point"`
}

// recordItem is a decision: names of decisions are no keys.
type recordItem struct {
	Decision string `json:"decision"`
	Value    string `json:"value"`
}

func recordData(list []records.Summary) []recordInfo {
	out := []recordInfo{}
	for i := range list {
		out = append(out, *summaryData(&list[i]))
	}
	return out
}

func summaryData(s *records.Summary) *recordInfo {
	if s == nil {
		return nil
	}
	d := &recordInfo{Kernel: s.Kernel, Name: s.Name, Network: s.Network, Target: s.Target, Class: s.Class, Workers: s.Workers, Trials: s.Trials, Faults: s.Faults, Standing: string(s.Standing), Point: []recordItem{}}
	if s.Ratio > 0 {
		d.Gain = cli.Number(1 / s.Ratio)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Point)) {
		d.Point = append(d.Point, recordItem{name, s.Point[name]})
	}
	return d
}

// recordDifference is a kernel for which two files say different things.
type recordDifference struct {
	Before *recordInfo `json:"before"`
	After  *recordInfo `json:"after"`
}

func differenceData(list []records.Difference) []recordDifference {
	out := []recordDifference{}
	for _, d := range list {
		out = append(out, recordDifference{summaryData(d.A), summaryData(d.B)})
	}
	return out
}
