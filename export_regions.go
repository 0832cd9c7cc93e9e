package lathe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/byoc"
	"lathe/internal/byoc/dpu"
	"lathe/internal/byoc/plugin"
	"lathe/internal/compile"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/tool/atomicfile"
	"lathe/internal/tool/excerpt"
)

// RegionForm is a form in which the quantised parts of a network go on to the tools of a device.
type RegionForm = byoc.Form

// Forms of regions: QDQ is the whole network as an ONNX file with pairs of QuantizeLinear and DequantizeLinear around the device's layers,
// XModel a file for each region in the form of AMD's Vitis AI, quantised and not compiled.
const (
	QDQ    RegionForm = byoc.QDQ
	XModel RegionForm = byoc.XModel
)

// ExportRegions writes what the external code generators of o.Target would compute for the tools of their device, calibrated as o.Calibration
// says, and returns the files: path, or where there are several NAME_0, NAME_1 and so on for NAME.
func ExportRegions(ctx context.Context, m *Model, o CompileOptions, form RegionForm, path string) (files []string, err error) {
	err = fault.Guard(func() (err error) { files, err = m.exportRegions(ctx, o, form, path); return err })
	if err != nil {
		return nil, excerpt.Error(err)
	}
	return files, nil
}

func (m *Model) exportRegions(ctx context.Context, o CompileOptions, form RegionForm, path string) ([]string, error) {
	o.Format, o.Output = "", ""
	opts, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if err := m.informCodegens(ctx, &o, &opts); err != nil {
		return nil, err
	}
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	found, err := compile.Emulate(ctx, g, opts, form)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no part of the network is for a device of target %q whose regions have form %s", opts.Target, form)
	}
	for _, e := range found {
		for _, note := range e.Notes {
			if o.Notes != nil {
				o.Notes(note)
			}
		}
	}
	if err := compileRegions(ctx, found, form, &opts, o.Progress); err != nil {
		return nil, err
	}
	if form == QDQ {
		return []string{path}, m.derived(g).SaveONNX(ctx, path)
	}
	return writeRegions(ctx, found, path)
}

// compileRegions has the device's own compiler compile the files of regions, where the target's options say so.
func compileRegions(ctx context.Context, found []pass.Emulated, form RegionForm, opts *compile.Options, progress func(phase string, done, total int)) error {
	for i := range found {
		e := &found[i]
		k := slices.IndexFunc(opts.Codegens, func(c byoc.Chosen) bool { return c.Name == e.Generator })
		told, wanted, err := vendorCompiler(opts.Codegens[k], form)
		if err != nil || !wanted {
			return err
		}
		if e.File, err = plugin.Translate(ctx, e.Generator, ".xmodel", e.File, e.Symbol, told); err != nil {
			return fmt.Errorf("region %s: %w", e.Symbol, err)
		}
		if progress != nil {
			progress("regions", i+1, len(found))
		}
	}
	return nil
}

// vendorCompiler is what a device's own compiler is told, and whether it is wanted. It is refused where a form has no use for it.
func vendorCompiler(c byoc.Chosen, form RegionForm) (told map[string]string, wanted bool, err error) {
	if c.Emulate == nil {
		return nil, false, nil
	}
	told, wanted, err = dpu.CompilerOptions(c.Given)
	if err == nil && wanted && form != XModel {
		err = fmt.Errorf("external code generator %s: -compile=1 is for -f %s alone", c.Name, XModel)
	}
	return told, wanted, err
}

// derived is a model of a graph that was made of m's.
func (m *Model) derived(g *graph.Graph) *Model {
	d := &Model{file: m.file, opts: LoadOptions{Notes: m.opts.Notes}, source: m.source, first: g}
	d.said.inputs, d.said.outputs = m.meanings()
	return d
}

func writeRegions(ctx context.Context, found []pass.Emulated, path string) ([]string, error) {
	var names []string
	var files []*atomicfile.File
	for i, e := range found {
		if e.File == nil {
			return nil, errors.New("a generator has no file for its region")
		}
		name := path
		if len(found) > 1 {
			ext := filepath.Ext(path)
			name = fmt.Sprintf("%s_%d%s", strings.TrimSuffix(path, ext), i, ext)
		}
		f, err := atomicfile.Create(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		defer f.Discard()
		if _, err := f.Write(e.File); err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		names, files = append(names, name), append(files, f)
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	return names, nil
}
