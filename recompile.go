package lathe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"lathe/runtime"
)

// Recompile compiles the model of a package again by the package's own options, and with the positions that a calibration found. The
// model's file is looked for beside the package, and in the working directory.
func Recompile(ctx context.Context, path string, info *runtime.Info, table []byte) (*Package, error) {
	shapes := map[string][]int{}
	for _, in := range info.Inputs {
		shapes[in.Name] = in.Shape
	}
	for _, dir := range []string{filepath.Dir(path), "."} {
		file := filepath.Join(dir, info.Source.File)
		sum, err := hashFile(ctx, file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && sum != info.Source.SHA256 {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := LoadContext(ctx, file, LoadOptions{Shapes: shapes})
		if err != nil {
			return nil, err
		}
		list := func(option string) []string {
			if info.Options[option] == "" {
				return nil
			}
			return strings.Split(info.Options[option], ",")
		}
		return Compile(ctx, m, CompileOptions{
			Target: info.Target.String, OptLevel: OptLevel(info.Options["opt-level"]), DisabledPasses: list("disabled-pass"), ModuleName: info.Module,
			DesiredLayout: list("desired-layout"), DesiredLayoutOps: list("desired-layout-ops"), Denormals: Denormals(info.Options["denormals"]),
			NoExternalFallback: info.Options["external-fallback"] == "false", Calibration: Calibration{Table: table},
		})
	}
	return nil, fmt.Errorf("the model %s that it was compiled from lies neither beside it nor in the working directory, or has changed", info.Source.File)
}
