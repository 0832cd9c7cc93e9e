package main

import (
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/target"
	"lathe/internal/tool/cli"
)

func (a *app) targetsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "targets",
		Short: "list the targets that have names, external code generators, and the CPUs with what the compiler uses of them",
		Long: `List the targets that have names, the external code generators that are built in (docs/codegen.md), and the CPUs with what the compiler uses
of them. All are for --target:

  lathe targets
  lathe compile --target "dnnl, llvm" -o net.tar net.onnx
  lathe compile --target raspberry-pi-4 -o net.tar net.onnx
  lathe compile --target "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76" -o net.tar net.onnx`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				d, err := targetData()
				if err != nil {
					return err
				}
				return cli.JSON(a.Out, d)
			}
			w := a.Table()
			w.Row("PRESET", "TARGET", "WHAT IT IS")
			for _, p := range target.Presets() {
				w.Row(p.Name, p.Target, p.Doc)
			}
			w.Row()
			w.Row("CODE GENERATOR", "STANDS FOR", "WHAT IT IS")
			for _, g := range generatorData() {
				w.Row(g.Name, g.Target, g.Doc)
			}
			w.Row()
			w.Row("CPU", "ARCHITECTURE", "VECTORS", "FEATURES")
			for _, arch := range target.Arches() {
				for _, cpu := range target.CPUs(arch) {
					t, err := target.OfCPU(arch, cpu)
					if err != nil {
						return err
					}
					w.Row(cpu, arch, t.Vectors(), strings.Join(t.Features, " "))
				}
			}
			return w.Flush()
		},
	}
	cli.JSONVar(cmd, &asJSON)
	return cmd
}
