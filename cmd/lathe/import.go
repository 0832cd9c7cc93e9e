package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lathe/internal/tool/cli"
)

func (a *app) importCommand() *cobra.Command {
	var model modelFlags
	var output string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "write a model of any format as ONNX, for other tools",
		Long: `Write a model of any format that lathe reads as an ONNX file, for other tools: with the names of its inputs and outputs,
its weights, and the shapes that it is read for.

  lathe import -o net.onnx net.h5
  lathe import --input-shapes "data:[1,3,224,224]" -o resnet18.onnx resnet18-symbol.json`,
		Args: cli.OneFile("model file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return cli.Usagef(cmd.CommandPath(), "flag --output is needed: the ONNX file to write")
			}
			m, err := model.load(cmd.Context(), args[0], a.Note)
			if err != nil {
				return err
			}
			if err := m.Err(); err != nil {
				return refused(args[0], err)
			}
			if err := errors.Join(cli.WritablePlain(output), cli.NotOver(output, m.Files()...)); err != nil {
				return err
			}
			if err := m.SaveONNX(cmd.Context(), output); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	model.define(cmd)
	cli.OutputVarP(fs, &output, "output", "o", "", []string{".onnx"}, "`file` to write")
	return cmd
}
