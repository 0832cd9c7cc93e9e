// Package preprocess is the flags that say how pictures become inputs, which commands that take pictures share.
package preprocess

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/tool/cli"
	"lathe/internal/tool/picture"
	"lathe/internal/tool/spelling"
)

// Flags are a preset and what changes it.
type Flags struct {
	preset                string
	resize                picture.Resize
	crop                  picture.Size
	mean, std             [3]float64
	scale                 float64
	color, layout, filter string
	changed               func(string) bool
}

// names are the flags that change single settings of a preset.
var names = []string{"resize", "crop", "mean", "std", "scale", "color", "layout", "filter"}

// Define adds the flags to a command; what is "the picture" or the like in their help.
func (f *Flags) Define(cmd *cobra.Command, what string) {
	fs := cmd.Flags()
	f.changed = fs.Changed
	fs.StringVar(&f.preset, "preprocess", "unit", "`preset` that makes "+what+" the input")
	cli.ParsedVar(fs, &f.resize, "resize", "SIZE", picture.ParseResize, "size before the crop: N for the shorter side, WxH for both, none")
	cli.ParsedVar(fs, &f.crop, "crop", "SIZE", picture.ParseSize, "centre crop, N or WxH (default: the input's size)")
	cli.ParsedVar(fs, &f.mean, "mean", "R,G,B", picture.ParseTriple, "subtracted after scaling")
	cli.ParsedVar(fs, &f.std, "std", "R,G,B", parseDeviation, "divides at the end")
	fs.Float64Var(&f.scale, "scale", 1.0/255, "`factor` for pixel values from 0 to 255 (default 1/255)")
	cli.ChoiceVar(fs, &f.color, "color", string(picture.RGB), texts(picture.Colors), "order of channels: rgb, bgr or gray")
	cli.ChoiceVar(fs, &f.layout, "layout", string(picture.Auto), texts(picture.Layouts), "order of axes: NCHW, NHWC or auto")
	cli.ChoiceVar(fs, &f.filter, "filter", string(picture.Bilinear), texts(picture.Filters), "resizing: bilinear (averages, as Pillow), point (bilinear of four pixels, as OpenCV), nearest, bicubic")
	cli.MarkOurs(cmd, append([]string{"preprocess"}, names...)...)
}

// Presets lists the presets for help.
func Presets() string {
	var b strings.Builder
	for _, p := range picture.Presets() {
		fmt.Fprintf(&b, "\n  %-16s %s", p.Name, p.Doc)
	}
	return b.String()
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

// Given is the name of the first flag that was given, or empty.
func (f *Flags) Given() string {
	for _, name := range append([]string{"preprocess"}, names...) {
		if f.changed(name) {
			return name
		}
	}
	return ""
}

// Check refuses unknown presets.
func (f *Flags) Check(command string) error {
	if _, ok := picture.FindPreset(f.preset); ok {
		return nil
	}
	var known []string
	for _, p := range picture.Presets() {
		known = append(known, p.Name)
	}
	return cli.Usagef(command, "flag --preprocess: unknown preset %q (choose from %s)%s", f.preset, strings.Join(known, ", "), spelling.Hint(f.preset, known))
}

// Settings is the preset with the changes of single flags.
func (f *Flags) Settings() picture.Settings {
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
	s.Chosen = s.Normalize || f.changed("preprocess")
	return s
}
