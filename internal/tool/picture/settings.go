package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Settings says how a picture becomes a tensor.
type Settings struct {
	Resize Resize
	Crop   Size // centre crop after resizing; zero = the model's input size
	Scale  float64
	Mean   [3]float64 // in the order R, G, B; subtracted after scaling
	Std    [3]float64 // divides at the end
	Color  Color
	Layout Layout
	Filter Filter
	// Normalize applies Scale, Mean and Std to integer inputs too and rounds; without it they take the pixels as they
	// are, int8 minus 128.
	Normalize bool
	// Chosen says that the user asked for Scale, Mean and Std, which then hold for inputs that say themselves how they are normalised, and for
	// integer inputs whose numbers have a scale. Without it these take the pixels as other integer inputs do.
	Chosen bool
}

// Size is in pixels.
type Size struct{ W, H int }

// Resize names the size before the crop. At most one of Shorter and Exact is set; with neither and not None, the size is
// Margin times the crop, covered with the aspect ratio kept unless Stretch is set.
type Resize struct {
	None    bool
	Shorter int  // the shorter side becomes this, the aspect ratio is kept
	Exact   Size // both sides, the aspect ratio is not kept
	Margin  float64
	Stretch bool
}

// Color is the order of the channels.
type Color string

// Layout is the order of the axes.
type Layout string

// Filter is the method of resizing, always with half-pixel centres.
type Filter string

// Values of settings.
const (
	RGB  Color = "rgb"
	BGR  Color = "bgr"
	Gray Color = "gray"

	Auto Layout = "auto" // by the shape of the model's input
	NCHW Layout = "NCHW"
	NHWC Layout = "NHWC"

	Bilinear Filter = "bilinear" // averages when shrinking, as Pillow does
	Point    Filter = "point"    // bilinear between four pixels whatever the size, as OpenCV does
	Nearest  Filter = "nearest"
	Bicubic  Filter = "bicubic" // averages when shrinking
)

// Colors, Layouts and Filters list the values.
var (
	Colors  = []Color{RGB, BGR, Gray}
	Layouts = []Layout{Auto, NCHW, NHWC}
	Filters = []Filter{Bilinear, Point, Nearest, Bicubic}
)

// A Preset is a set of settings by name.
type Preset struct {
	Name, Doc string
	Settings  Settings
}

// imagenetMargin is 256/224.
const imagenetMargin = 256.0 / 224

// Presets lists the presets.
func Presets() []Preset {
	cover := Resize{Margin: 1}
	imagenetMean, imagenetStd := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	ones, halves := [3]float64{1, 1, 1}, [3]float64{0.5, 0.5, 0.5}
	base := Settings{Resize: cover, Scale: 1.0 / 255, Std: ones, Color: RGB, Layout: Auto, Filter: Bilinear}
	row := func(name, doc string, change func(*Settings)) Preset {
		s := base
		change(&s)
		return Preset{name, doc, s}
	}
	return []Preset{
		row("unit", "shorter side to the input's size, centre crop, values 0 to 1", func(s *Settings) {}),
		row("raw", "the same, values 0 to 255", func(s *Settings) { s.Scale = 1 }),
		row("signed", "the same, values -1 to 1 (TensorFlow's)", func(s *Settings) { s.Mean, s.Std = halves, halves }),
		row("imagenet", "shorter side to 256, centre crop 224 (or in proportion), ImageNet's mean and deviation (PyTorch's)", func(s *Settings) {
			s.Resize.Margin, s.Mean, s.Std = imagenetMargin, imagenetMean, imagenetStd
		}),
		row("imagenet-square", "imagenet with both sides to 256, which distorts", func(s *Settings) {
			s.Resize.Margin, s.Resize.Stretch, s.Mean, s.Std = imagenetMargin, true, imagenetMean, imagenetStd
		}),
		row("caffe", "shorter side to 256, centre crop 224, channels B, G, R from 0 to 255 minus their mean", func(s *Settings) {
			s.Resize.Margin, s.Scale, s.Color, s.Mean = imagenetMargin, 1, BGR, [3]float64{123.68, 116.779, 103.939}
		}),
	}
}

// FindPreset returns the settings of a preset by name.
func FindPreset(name string) (Settings, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p.Settings, true
		}
	}
	return Settings{}, false
}

// ParseResize reads "256" (shorter side), "256x256" (both sides, width first) or "none".
func ParseResize(text string) (Resize, error) {
	if text == "none" {
		return Resize{None: true}, nil
	}
	if !strings.Contains(text, "x") {
		n, err := side(text)
		return Resize{Shorter: n}, err
	}
	s, err := ParseSize(text)
	return Resize{Exact: s}, err
}

// ParseSize reads "224" or "320x240", width first.
func ParseSize(text string) (Size, error) {
	w, h, ok := strings.Cut(text, "x")
	if !ok {
		h = w
	}
	width, err := side(w)
	if err != nil {
		return Size{}, err
	}
	height, err := side(h)
	return Size{width, height}, err
}

func side(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<14 {
		return 0, fmt.Errorf("%q is not a size from 1 to %d", text, 1<<14)
	}
	return n, nil
}

// ParseTriple reads one number for all channels or three, separated by commas, in the order R, G, B.
func ParseTriple(text string) ([3]float64, error) {
	parts := strings.Split(text, ",")
	if len(parts) == 1 {
		parts = slices.Repeat(parts, 3)
	}
	var v [3]float64
	if len(parts) != 3 {
		return v, fmt.Errorf("%q: want one number or three, as in 0.485,0.456,0.406", text)
	}
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return v, fmt.Errorf("%q is not a number", p)
		}
		v[i] = f
	}
	return v, nil
}
