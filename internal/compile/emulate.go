package compile

import (
	"context"

	"lathe/internal/byoc"
	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
)

// Emulate runs the passes on g, which it changes, up to the one that puts emulations in the place of regions, in one of the forms that
// generators have for them. The emulations have what the regions are in that form.
func Emulate(ctx context.Context, g *graph.Graph, o Options, form byoc.Form) (found []pass.Emulated, err error) {
	j, err := newJob(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &pass.Context{Graph: g, Target: j.Target, Level: j.Level, Workers: j.Workers, Layouts: j.Layouts, LayoutOps: j.LayoutOps, Disabled: j.Disabled,
		Codegens: j.Codegens, Module: j.Module, Calibration: j.Calibration, Form: form, Ctx: ctx}
	table := j.graphPipeline()
	for i, p := range table {
		if p.Name == "EmulateRegions" {
			table = table[:i+1]
			break
		}
	}
	err = fault.Guard(func() error {
		return pipeline.Run(table, c, pipeline.Options[*pass.Context]{Level: j.Level, Disabled: j.Disabled, Context: ctx, Verify: pass.Verify})
	})
	return c.Emulations, err
}
