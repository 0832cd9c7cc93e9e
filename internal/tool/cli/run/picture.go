package run

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/tool/cli"
	"lathe/internal/tool/picture"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// pictureFlags say which picture fills an input, and how.
type pictureFlags struct {
	path                  string
	preset                string
	resize                picture.Resize
	crop                  picture.Size
	mean, std             [3]float64
	scale                 float64
	color, layout, filter string
	changed               func(string) bool
}

// settingFlags change single settings of a preset.
var settingFlags = []string{"resize", "crop", "mean", "std", "scale", "color", "layout", "filter"}

func (f *pictureFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.path, "image", "", "PNG, JPEG or BMP `file` that fills the input, or INPUT=FILE")
	fs.StringVar(&f.preset, "preprocess", "unit", "`preset` that makes the picture the input")
	cli.ParsedVar(fs, &f.resize, "resize", "SIZE", picture.ParseResize, "size before the crop: N for the shorter side, WxH for both, none")
	cli.ParsedVar(fs, &f.crop, "crop", "SIZE", picture.ParseSize, "centre crop, N or WxH (default: the input's size)")
	cli.ParsedVar(fs, &f.mean, "mean", "R,G,B", picture.ParseTriple, "subtracted after scaling")
	cli.ParsedVar(fs, &f.std, "std", "R,G,B", parseDeviation, "divides at the end")
	fs.Float64Var(&f.scale, "scale", 1.0/255, "`factor` for pixel values from 0 to 255 (default 1/255)")
	cli.ChoiceVar(fs, &f.color, "color", string(picture.RGB), texts(picture.Colors), "order of channels: rgb, bgr or gray")
	cli.ChoiceVar(fs, &f.layout, "layout", string(picture.Auto), texts(picture.Layouts), "order of axes: NCHW, NHWC or auto")
	cli.ChoiceVar(fs, &f.filter, "filter", string(picture.Bilinear), texts(picture.Filters), "resizing: bilinear (averages, as Pillow), point (bilinear of four pixels, as OpenCV), nearest, bicubic")
	cli.MarkOurs(cmd, append([]string{"image", "preprocess"}, settingFlags...)...)
}

func parseDeviation(text string) ([3]float64, error) {
	v, err := picture.ParseTriple(text)
	if err == nil && v[0]*v[1]*v[2] == 0 {
		return v, fmt.Errorf("%q: a deviation of 0 cannot divide", text)
	}
	return v, err
}

func texts[T ~string](values []T) []string {
	var s []string
	for _, v := range values {
		s = append(s, string(v))
	}
	return s
}

// check refuses settings without a picture and unknown presets.
func (f *pictureFlags) check(cmd *cobra.Command) error {
	f.changed = cmd.Flags().Changed
	if f.path == "" {
		for _, name := range append([]string{"preprocess"}, settingFlags...) {
			if f.changed(name) {
				return cli.Usagef(cmd.CommandPath(), "flag --%s needs --image", name)
			}
		}
	}
	if _, ok := picture.FindPreset(f.preset); !ok {
		var names []string
		for _, p := range picture.Presets() {
			names = append(names, p.Name)
		}
		return cli.Usagef(cmd.CommandPath(), "flag --preprocess: unknown preset %q (choose from %s)%s",
			f.preset, strings.Join(names, ", "), spelling.Hint(f.preset, names))
	}
	return nil
}

// settings is the preset with the changes of single flags.
func (f *pictureFlags) settings() picture.Settings {
	s, _ := picture.FindPreset(f.preset)
	for _, c := range []struct {
		flag  string
		apply func()
	}{
		{"resize", func() { s.Resize = f.resize }},
		{"crop", func() { s.Crop = f.crop }},
		{"mean", func() { s.Mean, s.Normalize = f.mean, true }},
		{"std", func() { s.Std, s.Normalize = f.std, true }},
		{"scale", func() { s.Scale, s.Normalize = f.scale, true }},
		{"color", func() { s.Color = picture.Color(f.color) }},
		{"layout", func() { s.Layout = picture.Layout(f.layout) }},
		{"filter", func() { s.Filter = picture.Filter(f.filter) }},
	} {
		if f.changed(c.flag) {
			c.apply()
		}
	}
	return s
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
	s := f.settings()
	r, err := s.Prepare(img, picture.Input{DType: input.DType, Shape: input.Shape})
	if err != nil {
		return fmt.Errorf("picture %s for input %q: %w", path, input.Name, err)
	}
	set.put(input.Name, runtime.Tensor{DType: input.DType, Shape: input.Shape, Data: r.Data})
	printPicture(w, s, r)
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
func printPicture(w io.Writer, s picture.Settings, r *picture.Result) {
	fmt.Fprintf(w, "Original image: %dx%dx%d\n", r.Original.W, r.Original.H, r.Channels)
	fmt.Fprintf(w, "Resized to: %dx%d\n", r.Resized.W, r.Resized.H)
	fmt.Fprintf(w, "Final image size: %dx%dx%d\n", r.Final.W, r.Final.H, r.FinalChannels)
	fmt.Fprintf(w, "Color order: %s\n", strings.ToUpper(string(r.Color)))
	switch {
	case !r.Normalized:
		fmt.Fprintln(w, "Pixel scaling: none (integer input)")
	case s.Scale == 1.0/255:
		fmt.Fprintln(w, "Pixel scaling: 0.0 to 1.0 (PyTorch-style)")
	default:
		fmt.Fprintf(w, "Pixel scaling: 0 to %.6g\n", 255*s.Scale)
	}
	if r.Normalized {
		fmt.Fprintf(w, "Mean (R,G,B): [%g, %g, %g]\n", s.Mean[0], s.Mean[1], s.Mean[2])
		fmt.Fprintf(w, "Std (R,G,B):  [%g, %g, %g]\n", s.Std[0], s.Std[1], s.Std[2])
	}
	fmt.Fprintf(w, "Input tensor range: [%.6g, %.6g], mean: %.6g\n", r.Low, r.High, r.MeanOfTensor)
}
