package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/spelling"
)

func (a *app) verifyCommand() *cobra.Command {
	var model modelFlags
	var tgt targetFlags
	var level int
	var disabled string
	var perOp, asJSON bool
	var denormals string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "compile a model and compare what it computes with the reference evaluation",
		Long: `Compile a model for this machine, run it on random inputs (the same each time), and compare its outputs with the
reference evaluation of the operators. With --per-op, compile and compare every operator by itself instead, on the
operands that the reference gives it.

  lathe verify resnet50.onnx
  lathe verify --per-op --opt-level 4 resnet50.onnx`,
		Args: cli.OneFile("model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := (&compileFlags{command: cmd.CommandPath(), target: tgt, optLevel: level, disabledPass: disabled, denormals: denormals, note: a.Note}).options(a.Out)
			if err != nil {
				return err
			}
			if o, err = o.Resolved(); err != nil {
				return err
			}
			bar := a.progress()
			defer bar.clear()
			notes := func(text string) {
				bar.clear()
				a.Note(text)
			}
			m, err := model.load(cmd.Context(), args[0], notes)
			if err != nil {
				return err
			}
			report, err := lathe.Verify(cmd.Context(), m, lathe.VerifyOptions{
				Target: o.Target, OptLevel: o.OptLevel, DisabledPasses: o.DisabledPasses, Denormals: o.Denormals, PerOperator: perOp, Progress: bar.show, Notes: notes,
			})
			bar.clear()
			if err != nil {
				return refused(args[0], err)
			}
			if asJSON {
				if err := cli.JSON(a.Out, reportData(args[0], o.Target, level, report)); err != nil {
					return err
				}
				return verdict(args[0], report)
			}
			return a.printReport(args[0], report)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	tgt.define(cmd)
	model.define(cmd)
	cli.ChoiceVar(fs, &denormals, "denormals", "", lathe.DenormalModes(), "as for compile: flush takes floats below the smallest normal number as zero, keep computes with them")
	cli.NumberVar(fs, &level, "opt-level", "O", 3, 0, 4, "optimisation level, 0 to 4")
	fs.StringVar(&disabled, "disabled-pass", "", "`passes` to leave out, separated by commas")
	cli.JSONVar(cmd, &asJSON)
	fs.BoolVar(&perOp, "per-op", false, "compare every operator by itself instead of the whole model's outputs")
	return cmd
}

// printReport prints one line per tensor, and fails when one is outside its tolerance.
func (a *app) printReport(path string, r *lathe.VerifyReport) error {
	w := a.Table()
	w.Row("TENSOR", "REL L2", "ALLOWED", "MAX ABS", "", "NODES")
	short := func(v float64) string { return fmt.Sprintf("%.2g", v) }
	for _, row := range r.Rows {
		verdict := "ok"
		if !row.OK {
			verdict = "WRONG"
		}
		w.Row(row.Name, short(row.RelL2), short(row.Tolerance), short(row.MaxAbs), verdict, strings.Join(row.Nodes, " "))
		if row.Note != "" {
			w.Row("  " + row.Note)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return verdict(path, r)
}

// verdict is an error when a tensor is outside its tolerance.
func verdict(path string, r *lathe.VerifyReport) error {
	bad := 0
	for _, row := range r.Rows {
		if !row.OK {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s: %d of %s differ from the reference", path, bad, spelling.Count(len(r.Rows), "tensor"))
	}
	if !r.OK {
		return errors.New(path + ": the outputs differ from the reference")
	}
	return nil
}
