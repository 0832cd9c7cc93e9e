package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/excerpt"
	"lathe/internal/tool/spelling"
)

// printModel prints what is known about a model that was read with some inputs fixed.
func (a *app) printModel(i *lathe.ModelInfo, fixed []string) error {
	w := a.Table()
	w.Row("model", modelLine(i))
	for _, t := range i.Inputs {
		w.Row(append([]any{"input"}, tensorCells(t)...)...)
	}
	for _, t := range i.Outputs {
		w.Row(append([]any{"output"}, tensorCells(t)...)...)
	}
	if len(i.Sizes) > 0 {
		w.Row("sizes", sizesLine(i.Sizes))
	}
	w.Rowf("parameters", "%d in %s, %s", i.Parameters, spelling.Count(i.Tensors, "tensor"), bundle.SizeText(i.Weights))
	if i.MACs > 0 {
		w.Rowf("work", "%s multiply-adds", scaled(i.MACs))
	}
	if i.Memory != nil {
		w.Row("memory", memoryLine(*i.Memory))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "operators:")
	missing := 0
	for _, o := range i.Operators {
		if strings.HasPrefix(o.Reason, "not supported") {
			missing++
		}
		cells := []any{"  " + o.Name, o.Count}
		if o.Reason != "" {
			cells = append(cells, o.Reason)
		}
		w.Row(cells...)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(i.Control) > 0 {
		fmt.Fprintln(a.Out, "control flow:")
	}
	for _, c := range i.Control {
		w.Row("  "+c.Operator, c.Node, c.Becomes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range i.Notes {
		a.Note(n)
	}
	if i.Compiles {
		_, err := fmt.Fprintln(a.Out, "compiles: yes")
		return err
	}
	fmt.Fprintf(a.Out, "compiles: no: %s\n", i.Refusal)
	if missing > 0 {
		is := "are"
		if missing == 1 {
			is = "is"
		}
		fmt.Fprintf(a.Out, "%s %s not supported\n", spelling.Count(missing, "operator"), is)
	}
	if i.Proposal != "" {
		flags := ""
		for _, f := range fixed {
			flags += "--fix " + inShell(f) + " "
		}
		fmt.Fprintf(a.Out, "try: lathe compile %s--input-shapes %s %s\n", flags, inShell(excerpt.Message(i.Proposal)), i.File)
		if i.Next != "" {
			fmt.Fprintf(a.Out, "which gets further, and then: %s\n", i.Next)
		} else {
			fmt.Fprintln(a.Out, "which works, found by trying; what sizes the model was made for, its documentation knows")
		}
	}
	return nil
}

// memoryLine says what a run takes.
func memoryLine(m lathe.Memory) string {
	line := fmt.Sprintf("%s for a run: %v", bundle.SizeText(m.Run), m)
	if m.Weights > 0 {
		line += fmt.Sprintf("; and %s of weights", bundle.SizeText(m.Weights))
	}
	return line
}

// inShell quotes a word for a shell.
func inShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func modelLine(i *lathe.ModelInfo) string {
	parts := []string{i.File, bundle.SizeText(i.Bytes)}
	if i.Form != "" {
		parts = append(parts, i.Form)
	}
	for _, domain := range slices.Sorted(maps.Keys(i.Opsets)) {
		parts = append(parts, fmt.Sprintf("%s %d", domain, i.Opsets[domain]))
	}
	if i.Producer != "" {
		parts = append(parts, "from "+i.Producer)
	}
	return strings.Join(parts, ", ")
}

// tensorCells are a tensor as the file declares it and, where that leaves something open, as it is compiled.
func tensorCells(t lathe.ModelTensor) []any {
	declared := t.DType
	if t.Declared != nil {
		declared += "[" + strings.Join(t.Declared, ",") + "]"
	}
	compiled := make([]string, len(t.Shape))
	for axis, n := range t.Shape {
		compiled[axis] = fmt.Sprint(n)
		if t.ByData != nil && t.ByData[axis] {
			compiled[axis] = "0.." + compiled[axis]
		}
	}
	cells := []any{t.Name, declared}
	if t.Shape != nil && !slices.Equal(compiled, t.Declared) {
		cells = append(cells, "as ["+strings.Join(compiled, ",")+"]")
	}
	if t.Fixed {
		cells = append(cells, "fixed to a value")
	}
	if t.ByData != nil {
		cells[len(cells)-1] = fmt.Sprint(cells[len(cells)-1], ", the data decide")
	}
	if t.Scale != 0 {
		cells = append(cells, fmt.Sprintf("%.6g (q - %d)", t.Scale, t.Zero))
	}
	if t.Std != nil {
		cells = append(cells, fmt.Sprintf("(pixel - %v) / %v", t.Mean, t.Std))
	}
	if t.Aliases != nil {
		cells = append(cells, "or "+strings.Join(t.Aliases, ", "))
	}
	if t.Labels != nil {
		cells = append(cells, spelling.Count(len(t.Labels), "label"))
	}
	return cells
}

func sizesLine(sizes []lathe.ModelSize) string {
	var parts []string
	for _, s := range sizes {
		text := fmt.Sprintf("%s=%d", s.Name, s.Size)
		if !s.Given {
			text += " (not given)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// scaled prints a large number in three digits.
func scaled(n int64) string {
	for _, s := range []struct {
		least int64
		name  string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if n >= s.least {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(s.least), s.name)
		}
	}
	return fmt.Sprint(n)
}

// refusePackageFlags says that a model has no kernels yet.
func refusePackageFlags(command, path, flag string) error {
	return cli.Usagef(command, "flag --%s is about packages, and %s is a model: compile it first, or use lathe compile --explain", flag, path)
}
