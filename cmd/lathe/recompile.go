package main

import (
	"context"

	"lathe"
	"lathe/runtime"
)

// recompile compiles a package again for 'lathe run', which has calibrated it.
func recompile(ctx context.Context, path string, info *runtime.Info, table []byte, to string) error {
	pkg, err := lathe.Recompile(ctx, path, info, table)
	if err != nil {
		return err
	}
	return pkg.SaveContext(ctx, to)
}
