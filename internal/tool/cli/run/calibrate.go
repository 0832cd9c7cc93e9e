package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/dataset"
	"lathe/internal/tool/calibration"
	"lathe/runtime"
)

// A Recompile compiles the model of the package at path again, with the positions that a calibration found, into the file to.
type Recompile func(ctx context.Context, path string, info *runtime.Info, table []byte, to string) error

// calibrated is the module to run: m, or where its regions are to be calibrated and that is done, the package compiled with what was found.
func (c *command) calibrated(ctx context.Context, path string, m *runtime.Module) (*runtime.Module, error) {
	if len(m.Info().Taps) == 0 {
		if c.data != "" {
			return nil, fmt.Errorf("%s: no region of the package is to be calibrated (leave --data out)", path)
		}
		return m, nil
	}
	folder := calibration.Folder("")
	table, err := calibration.Stored("", folder)
	switch {
	case err != nil:
		return nil, err
	case table != nil:
		if err := calibration.Fits(table, m); err != nil {
			return nil, fmt.Errorf("%s: %w", calibration.Table(folder), err)
		}
	case c.data == "":
		c.Note(fmt.Sprintf("%s is not calibrated: it computes in float32 (--data SAMPLES calibrates it)", path))
		return m, nil
	default:
		if table, err = c.calibrate(ctx, m); err != nil {
			return nil, err
		}
		if folder == "" {
			if folder, err = os.MkdirTemp("", "lathe-build-"); err != nil {
				return nil, err
			}
		}
		if err := calibration.Store(table, "", folder); err != nil {
			return nil, err
		}
	}
	return c.quantised(ctx, path, m, table, folder)
}

// calibrate runs samples and returns the positions that they ask for.
func (c *command) calibrate(ctx context.Context, m *runtime.Module) ([]byte, error) {
	set, err := dataset.Open(c.data, dataset.Options{})
	if err != nil {
		return nil, err
	}
	n, err := calibration.Samples()
	if err != nil {
		return nil, err
	}
	n = min(n, len(set.Samples))
	settings := c.picture.settings.Settings()
	fill := func(i int) error {
		at := i * len(set.Samples) / n
		v, err := set.Read(at)
		if err != nil {
			return err
		}
		for k, t := range m.Inputs() {
			in := dataset.Input{Name: t.Name, DType: t.DType, Shape: t.Shape, Scale: t.Scale, Zero: t.Zero, Mean: t.Mean, Std: t.Std}
			data, err := v.Fill(in, settings)
			if err != nil {
				return fmt.Errorf("sample %s: %w", set.Samples[at].Name, err)
			}
			if err := m.SetInputIndex(k, runtime.Tensor{DType: t.DType, Shape: t.Shape, Data: data}); err != nil {
				return err
			}
		}
		return nil
	}
	watch := calibration.New(m)
	if err := watch.Feed(ctx, n, fill, nil); err != nil {
		return nil, err
	}
	return watch.Table().Encode()
}

// quantised opens the package of a folder, which is compiled there first where it is not yet, and can be. Without samples a package that cannot be
// compiled runs in float32.
func (c *command) quantised(ctx context.Context, path string, m *runtime.Module, table []byte, folder string) (*runtime.Module, error) {
	to := calibration.Package(folder)
	info := m.Info()
	made, err := calibration.Finished(folder, m, c.options()...)
	if err == nil {
		c.Note(fmt.Sprintf("running %s, calibrated before", to))
		return made, m.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if c.recompile == nil {
		c.Note(fmt.Sprintf("the positions are in %s: 'lathe compile' makes the package with them, by -load_runtime_module; this one computes in float32", calibration.Table(folder)))
		return m, nil
	}
	if err := c.recompile(ctx, path, info, table, to); err != nil {
		err = fmt.Errorf("the positions are in %s; compiling the package with them: %w", calibration.Table(folder), err)
		if c.data == "" && ctx.Err() == nil { // nobody asked for integers by this command
			c.Note(fmt.Sprintf("%v; %s computes in float32", err, path))
			return m, nil
		}
		return nil, err
	}
	if made, err = c.open(to); err != nil {
		return nil, err
	}
	if t, err := positions.Decode(table); err == nil {
		c.Note(fmt.Sprintf("calibrated with %d samples: running %s", t.Samples, to))
	}
	return made, m.Close()
}
