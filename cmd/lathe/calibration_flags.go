package main

import (
	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/dataset"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/preprocess"
)

// calibrationFlags say what external code generators that need it are calibrated with.
type calibrationFlags struct {
	samples  string
	size     int
	raw      dataset.Raw
	pictures preprocess.Flags
}

func (f *calibrationFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.samples, "calibration", "", "samples of what the network will see, for external code generators that calibrate, such as DPUs: a data set at this `path`")
	cli.NumberVar(fs, &f.size, "calibration-size", "", 0, 1, 1<<20, "number of samples that are used, spread over the data set (default $PX_QUANT_SIZE or 128)")
	fs.Lookup("calibration-size").DefValue = ""
	cli.ParsedVar(fs, &f.raw, "raw", "SCALE,ZERO", dataset.ParseRaw, "what whole numbers of samples are for a float input, SCALE (q - ZERO); behind them ,uint8 for raw files of unsigned bytes")
	f.pictures.Define(cmd, "pictures of --calibration")
	cli.MarkOurs(cmd, "calibration", "calibration-size", "raw")
}

// check refuses flags without effect.
func (f *calibrationFlags) check(command string) error {
	if given := f.pictures.Given(); given != "" && f.samples == "" {
		return cli.Usagef(command, "flag --%s needs --calibration", given)
	}
	return f.pictures.Check(command)
}

func (f *calibrationFlags) options() lathe.Calibration {
	return lathe.Calibration{Samples: f.samples, Size: f.size, Raw: f.raw, Pictures: f.pictures.Settings()}
}
