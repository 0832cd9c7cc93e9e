package run

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/tool/cli"
	"lathe/internal/tool/cli/preprocess"
	"lathe/internal/tool/picture"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// pictureFlags say which picture fills an input, and how.
type pictureFlags struct {
	path     string
	settings preprocess.Flags
}

func (f *pictureFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "image", "", "PNG, JPEG or BMP `file` that fills the input, or INPUT=FILE")
	cli.MarkOurs(cmd, "image")
	f.settings.Define(cmd, "the picture")
}

// check refuses settings without a picture, or samples that may be pictures, and unknown presets.
func (f *pictureFlags) check(cmd *cobra.Command, data string) error {
	if name := f.settings.Given(); f.path == "" && data == "" && name != "" {
		return cli.Usagef(cmd.CommandPath(), "flag --%s needs --image", name)
	}
	return f.settings.Check(cmd.CommandPath())
}

// into makes the tensor, puts it into the set and prints what happened.
func (f *pictureFlags) into(set *inputSet, w io.Writer) error {
	input, path, err := f.input(set)
	if err != nil {
		return err
	}
	img, err := picture.ReadFile(path)
	if err != nil {
		return err
	}
	r, err := f.settings.Settings().Prepare(img, picture.Input{DType: input.DType, Shape: input.Shape, Scale: input.Scale, Zero: input.Zero, Mean: input.Mean, Std: input.Std})
	if err != nil {
		return fmt.Errorf("picture %s for input %q: %w", path, input.Name, err)
	}
	set.put(input.Name, runtime.Tensor{DType: input.DType, Shape: input.Shape, Data: r.Data})
	printPicture(w, r)
	return nil
}

// input finds the input that a picture goes to: the one that is named, or the only one left without a value.
func (f *pictureFlags) input(set *inputSet) (runtime.TensorInfo, string, error) {
	if name, path, ok := strings.Cut(f.path, "="); ok {
		if t, ok := set.find(name); ok {
			return t, path, nil
		}
	}
	var open []runtime.TensorInfo
	for _, t := range set.module.Inputs() {
		if _, ok := set.values[t.Name]; !ok && len(t.Shape) >= 3 {
			open = append(open, t)
		}
	}
	if name, _, ok := strings.Cut(f.path, "="); ok && !fileExists(f.path) {
		return runtime.TensorInfo{}, "", fmt.Errorf("--image %s: the model has no input '%s'. Expected inputs: %s", f.path, name, inputNames(set.module))
	}
	if len(open) == 0 {
		return runtime.TensorInfo{}, "", fmt.Errorf("--image: no input is left for a picture: those with three dimensions or more have values from --inputs, or there are none")
	}
	if len(open) != 1 {
		return runtime.TensorInfo{}, "", fmt.Errorf("--image: %s could take a picture; name one: --image INPUT=FILE, with INPUT one of %s",
			spelling.Count(len(open), "input"), inputNames(set.module))
	}
	return open[0], f.path, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// printPicture prints the lines of the C++ runner that users of TVM know.
func printPicture(w io.Writer, r *picture.Result) {
	fmt.Fprintf(w, "Original image: %dx%dx%d\n", r.Original.W, r.Original.H, r.Channels)
	fmt.Fprintf(w, "Resized to: %dx%d\n", r.Resized.W, r.Resized.H)
	fmt.Fprintf(w, "Final image size: %dx%dx%d\n", r.Final.W, r.Final.H, r.FinalChannels)
	fmt.Fprintf(w, "Color order: %s\n", strings.ToUpper(string(r.Color)))
	switch {
	case !r.Normalized:
		fmt.Fprintln(w, "Pixel scaling: none (integer input)")
	case r.Scale == 1.0/255:
		fmt.Fprintln(w, "Pixel scaling: 0.0 to 1.0 (PyTorch-style)")
	default:
		fmt.Fprintf(w, "Pixel scaling: 0 to %.6g\n", 255*r.Scale)
	}
	if r.Normalized {
		fmt.Fprintf(w, "Mean (R,G,B): [%g, %g, %g]\n", r.Mean[0], r.Mean[1], r.Mean[2])
		fmt.Fprintf(w, "Std (R,G,B):  [%g, %g, %g]\n", r.Std[0], r.Std[1], r.Std[2])
	}
	fmt.Fprintf(w, "Input tensor range: [%.6g, %.6g], mean: %.6g\n", r.Low, r.High, r.MeanOfTensor)
}
