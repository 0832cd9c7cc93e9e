package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lathe"
	"lathe/internal/tool/cli"
)

// A regionForm is a value of compile -f.
type regionForm struct {
	form     lathe.RegionForm
	doc, ext string
}

// regionForms are the values of compile -f that are for the tools of devices, with what they are and the extension of their files.
var regionForms = []regionForm{
	{lathe.QDQ, "ONNX with the parts for a DPU in 8-bit integers", ".onnx"},
	{lathe.XModel, "these parts for Vitis AI's compiler, not compiled", ".xmodel"},
}

// exportRegions writes the parts of the model that the target's external code generators take, for tools of their devices.
func (a *app) exportRegions(ctx context.Context, f *compileFlags, path string, o lathe.CompileOptions) error {
	form := regionForms[regionFormOf(f.format)]
	if f.output == "" {
		f.output = "module" + form.ext
	}
	if got := cli.Extension(f.output); got != form.ext {
		return cli.Usagef(f.command, "flag --output %s: -f %s writes %s files", f.output, f.format, form.ext)
	}
	if err := cli.NotOver(f.output, path); err != nil {
		return err
	}
	bar := a.progress()
	defer bar.clear()
	notes := func(text string) {
		bar.clear()
		a.Note(text)
	}
	m, err := f.model.load(ctx, path, notes)
	if err != nil {
		return err
	}
	o.Notes, o.Progress, o.Calibration = notes, bar.show, f.calibration.options()
	files, err := lathe.ExportRegions(ctx, m, o, form.form, f.output)
	if err != nil {
		return refused(path, err)
	}
	bar.clear()
	if len(files) > 1 {
		_, err = fmt.Fprintln(a.Out, strings.Join(files, "\n"))
	}
	return err
}

// regionFormOf is the place of a form, -1 for other formats.
func regionFormOf(format string) int {
	return slices.IndexFunc(regionForms, func(r regionForm) bool { return string(r.form) == format })
}

func regionFormNames() (names []string) {
	for _, r := range regionForms {
		names = append(names, string(r.form))
	}
	return names
}

// regionFormDocs describes the forms in the words of --help.
func regionFormDocs() string {
	var docs []string
	for _, r := range regionForms {
		docs = append(docs, string(r.form)+", "+r.doc)
	}
	return strings.Join(docs, "; ")
}
