package lathe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/byoc/dpu"
	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/compile"
	"lathe/internal/dataset"
	"lathe/internal/target"
	"lathe/internal/tool/calibration"
	"lathe/internal/tool/picture"
)

// Calibration says how external code generators get to know what a network will see. The zero Calibration takes what the target's
// options or PX_BUILD_DIR have from an earlier one.
type Calibration struct {
	// Samples names a data set in any form that 'lathe evaluate' takes; "" does not calibrate.
	Samples  string
	Size     int              // samples that are used, spread evenly over the set; 0 = PX_QUANT_SIZE, or 128
	Pictures picture.Settings // how pictures become inputs
	Raw      dataset.Raw      // what whole numbers of samples are
	// Table is what an earlier calibration found; nil: what files say.
	Table []byte
}

// informCodegens fills in what external code generators know of the network's values.
func (m *Model) informCodegens(ctx context.Context, o *CompileOptions, opts *compile.Options) (err error) {
	i := slices.IndexFunc(opts.Codegens, func(c byoc.Chosen) bool { return c.Emulate != nil })
	if i < 0 {
		if o.Calibration.Samples != "" {
			return fmt.Errorf("target %q has no external code generator that calibrates (lathe quantize makes integers of a network for a CPU)", opts.Target)
		}
		return nil
	}
	given := opts.Codegens[i].Given
	opts.Target = withoutFiles(opts.Target, i)
	switch {
	case o.Calibration.Table != nil:
		opts.Calibration = o.Calibration.Table
		return nil
	case o.Calibration.Samples == "":
		opts.Calibration, err = calibration.Stored(given.Value("load_runtime_module"), given.Value("build_dir"))
		return err
	}
	table, err := m.calibrate(ctx, o, *opts)
	if err != nil {
		return err
	}
	if opts.Calibration, err = table.Encode(); err != nil {
		return err
	}
	return calibration.Store(opts.Calibration, given.Value("export_runtime_module"), given.Value("build_dir"))
}

// withoutFiles is a target without the files that generator i is told of: a package does not depend on where they lie.
func withoutFiles(t *target.Target, i int) *target.Target {
	c := *t
	c.Generators = slices.Clone(t.Generators)
	c.Generators[i].Options = slices.DeleteFunc(slices.Clone(c.Generators[i].Options), func(o target.Option) bool {
		return slices.Contains(dpu.FileOptions, o.Name)
	})
	return &c
}

// calibrate compiles the network in float32 for this machine, and watches its regions while samples run.
func (m *Model) calibrate(ctx context.Context, o *CompileOptions, opts compile.Options) (*positions.Table, error) {
	here, err := resolveTarget("llvm")
	if err != nil {
		return nil, err
	}
	here.Generators = opts.Target.Generators
	opts.Target, opts.Format, opts.Weights, opts.Code = here, "", compile.WeightsByFormat, nil
	size := o.Calibration.Size
	if size == 0 {
		if size, err = calibration.Samples(); err != nil {
			return nil, err
		}
	}
	samples, err := m.samples(o.Calibration.Samples, "", size, QuantizeOptions{Pictures: o.Calibration.Pictures, Raw: o.Calibration.Raw})
	if err != nil {
		return nil, err
	}
	g, err := m.graph()
	if err != nil {
		return nil, err
	}
	opened, err := openGraph(ctx, g, opts, o.Workers)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	watch := calibration.New(opened.(*executable).Module)
	if watch == nil {
		return nil, errors.New("the target's external code generator takes no part of the network")
	}
	err = watch.Feed(ctx, samples.Len(), func(i int) error {
		in, err := samples.At(i)
		for k := 0; err == nil && k < len(in); k++ {
			err = opened.SetInput(k, in[k])
		}
		return err
	}, func(done, total int) {
		if o.Progress != nil {
			o.Progress("calibrating", done, total)
		}
	})
	return watch.Table(), err
}
