package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
)

// ramp is a picture whose red grows with x by 10 and whose green grows with y by 20; blue is 7.
func ramp(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, color.NRGBA{uint8(10 * x), uint8(20 * y), 7, 255})
		}
	}
	return img
}

func floats(t *testing.T, b []byte) []float32 {
	t.Helper()
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return v
}

// near compares to half a step of 16 bits.
func near(t *testing.T, what string, got []float32, want ...float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d: %v", what, len(got), len(want), got)
	}
	for i := range got {
		if d := got[i] - want[i]; d > 0.01 || d < -0.01 {
			t.Errorf("%s: value %d is %v, want %v (all: %v)", what, i, got[i], want[i], got)
		}
	}
}

func raw(change func(*Settings)) Settings {
	s, ok := FindPreset("raw")
	if !ok {
		panic("no preset raw")
	}
	change(&s)
	return s
}

// Half-pixel centres: pixel i of n resized from m samples at (i+0.5)*m/n - 0.5, clamped at the edges.
func TestResizePoint(t *testing.T) {
	img := ramp(4, 1)
	for _, c := range []struct {
		w    int
		want []float32
	}{
		{2, []float32{5, 25}},
		{8, []float32{0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30}},
		{3, []float32{1.6667, 15, 28.3333}},
	} {
		s := raw(func(s *Settings) { s.Filter, s.Resize = Point, Resize{Exact: Size{c.w, 1}} })
		r, err := s.Prepare(img, Input{DType: "float32", Shape: []int{1, 3, 1, c.w}})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "red", floats(t, r.Data)[:c.w], c.want...)
	}
}

// Shrinking averages under a triangle as wide as two target pixels: 8 pixels to 2 have weights 1 3 5 7 7 5 3 1 around
// the centre of the left half, cut at the edge.
func TestResizeBilinearAverages(t *testing.T) {
	s := raw(func(s *Settings) { s.Resize = Resize{Exact: Size{2, 1}} })
	r, err := s.Prepare(ramp(8, 1), Input{DType: "float32", Shape: []int{3, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	weights := []float64{5, 7, 7, 5, 3, 1}
	var sum, total float64
	for i, w := range weights {
		sum += w * float64(10*i)
		total += w
	}
	left := float32(sum / total)
	near(t, "red", floats(t, r.Data)[:2], left, 70-left)
}

// A crop of 1 row out of 4 starts at row 2: 1.5 rounds to even.
func TestPlacement(t *testing.T) {
	img := ramp(6, 4)
	for _, c := range []struct {
		name   string
		change func(*Settings)
		in     Input
		want   []float32
		layout Layout
	}{
		{"NCHW", func(*Settings) {}, Input{DType: "float32", Shape: []int{1, 3, 1, 2}}, []float32{20, 30, 40, 40, 7, 7}, NCHW},
		{"NHWC", func(*Settings) {}, Input{DType: "float32", Shape: []int{1, 1, 2, 3}}, []float32{20, 40, 7, 30, 40, 7}, NHWC},
		{"BGR", func(s *Settings) { s.Color = BGR }, Input{DType: "float32", Shape: []int{1, 1, 2, 3}}, []float32{7, 40, 20, 7, 40, 30}, NHWC},
		{"gray", func(*Settings) {}, Input{DType: "float32", Shape: []int{1, 1, 1, 2}}, []float32{30.258, 33.248}, NCHW},
		{"mean and deviation stay with their channel", func(s *Settings) {
			s.Color, s.Mean, s.Std = BGR, [3]float64{20, 30, 7}, [3]float64{5, 10, 1}
		}, Input{DType: "float32", Shape: []int{1, 2, 3}}, []float32{0, 1, 0, 0, 1, 2}, NHWC},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := raw(func(s *Settings) { s.Resize = Resize{None: true}; c.change(s) })
			r, err := s.Prepare(img, c.in)
			if err != nil {
				t.Fatal(err)
			}
			near(t, c.name, floats(t, r.Data), c.want...)
			if r.Layout != c.layout {
				t.Errorf("layout %s", r.Layout)
			}
		})
	}
}

func TestIntegers(t *testing.T) {
	none := func(s *Settings) { s.Resize = Resize{None: true} }
	for _, c := range []struct {
		dtype     string
		normalize bool
		want      []byte
	}{
		{"uint8", false, []byte{0, 0, 7}},
		{"int8", false, []byte{128, 128, 135}}, // -128, -128, -121
		{"int8", true, []byte{0, 0, 7}},
	} {
		s := raw(none)
		s.Normalize = c.normalize
		r, err := s.Prepare(ramp(1, 1), Input{DType: c.dtype, Shape: []int{1, 1, 1, 3}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Data, c.want) {
			t.Errorf("%s, normalize %t: got %v, want %v", c.dtype, c.normalize, r.Data, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	cat, crop := Size{1200, 800}, Size{224, 224}
	for _, c := range []struct {
		preset string
		from   Size
		crop   Size
		want   Size
	}{
		{"imagenet", cat, crop, Size{384, 256}},
		{"imagenet", Size{500, 375}, crop, Size{341, 256}},
		{"imagenet-square", cat, crop, Size{256, 256}},
		{"unit", cat, crop, Size{336, 224}},
		{"unit", Size{100, 300}, Size{320, 240}, Size{320, 960}},
		{"unit", Size{320, 240}, Size{320, 240}, Size{320, 240}},
	} {
		s, ok := FindPreset(c.preset)
		if !ok {
			t.Fatalf("no preset %s", c.preset)
		}
		if got := s.Resize.size(c.from, c.crop); got != c.want {
			t.Errorf("%s of %v to %v: %v, want %v", c.preset, c.from, c.crop, got, c.want)
		}
	}
}

func TestImagenetNumbers(t *testing.T) {
	s, ok := FindPreset("imagenet")
	if !ok {
		t.Fatal("no preset imagenet")
	}
	img := image.NewGray(image.Rect(0, 0, 10, 10)) // black
	r, err := s.Prepare(img, Input{DType: "float32", Shape: []int{1, 3, 8, 8}})
	if err != nil {
		t.Fatal(err)
	}
	v := floats(t, r.Data)
	near(t, "black", []float32{v[0], v[64], v[128]}, -0.485/0.229, -0.456/0.224, -0.406/0.225)
	if r.Resized != (Size{9, 9}) || r.Final != (Size{8, 8}) || r.Channels != 1 {
		t.Errorf("%+v", r)
	}
	if math.Abs(r.Low+2.1179) > 1e-4 || math.Abs(r.High+1.8044) > 1e-4 {
		t.Errorf("range [%v, %v]", r.Low, r.High)
	}
}

// Every format gives the same pixels, and alpha is dropped, not blended.
func TestDecode(t *testing.T) {
	img := ramp(6, 4)
	clear := ramp(6, 4)
	for i := 3; i < len(clear.Pix); i += 4 {
		clear.Pix[i] = 100
	}
	var p, transparent, b, j bytes.Buffer
	for _, err := range []error{png.Encode(&p, img), png.Encode(&transparent, clear), bmp.Encode(&b, img), jpeg.Encode(&j, img, &jpeg.Options{Quality: 100})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := raw(func(s *Settings) { s.Resize = Resize{None: true} })
	want, err := s.Prepare(img, Input{DType: "float32", Shape: []int{1, 3, 4, 6}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		file     []byte
		channels int
		within   float64
	}{{"PNG", p.Bytes(), 3, 0}, {"PNG with alpha", transparent.Bytes(), 4, 0}, {"BMP", b.Bytes(), 3, 0}, {"JPEG", j.Bytes(), 3, 14}} {
		decoded, err := Decode(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, err := s.Prepare(decoded, Input{DType: "float32", Shape: []int{1, 3, 4, 6}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Channels != c.channels {
			t.Errorf("%s: %d channels, want %d", c.name, r.Channels, c.channels)
		}
		w := floats(t, want.Data)
		for i, v := range floats(t, r.Data) {
			if math.Abs(float64(v-w[i])) > c.within {
				t.Errorf("%s: value %d is %v, want %v", c.name, i, v, w[i])
				break
			}
		}
	}
}

func TestErrors(t *testing.T) {
	var p bytes.Buffer
	if err := png.Encode(&p, ramp(2, 2)); err != nil {
		t.Fatal(err)
	}
	huge := bytes.Clone(p.Bytes())
	copy(huge[16:], []byte{0, 0, 0x80, 0, 0, 0, 0x80, 0})
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "is empty"},
		{[]byte("hello"), "not a PNG, JPEG or BMP"},
		{[]byte("version https://git-lfs.github.com/spec/v1"), "git lfs pull"},
		{p.Bytes()[:30], "PNG"},
		{huge, "PNG"},
	} {
		if _, err := Decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	square := Resize{Exact: Size{2, 2}}
	for _, c := range []struct {
		s    Settings
		in   Input
		want string
	}{
		{raw(func(*Settings) {}), Input{DType: "float32", Shape: []int{2, 3, 4, 4}}, "batch of 1"},
		{raw(func(*Settings) {}), Input{DType: "float32", Shape: []int{1, 1000}}, "not that of a picture"},
		{raw(func(*Settings) {}), Input{DType: "float32", Shape: []int{1, 4, 4, 4}}, "no axis of 1 or 3 channels"},
		{raw(func(s *Settings) { s.Layout = NHWC }), Input{DType: "float32", Shape: []int{1, 3, 4, 4}}, "for layout NHWC"},
		{raw(func(s *Settings) { s.Resize = square }), Input{DType: "float32", Shape: []int{1, 3, 4, 4}}, "smaller than the crop"},
		{raw(func(s *Settings) { s.Crop = Size{2, 2} }), Input{DType: "float32", Shape: []int{1, 3, 4, 4}}, "does not fit the input"},
		{raw(func(s *Settings) { s.Color = Gray }), Input{DType: "float32", Shape: []int{1, 3, 4, 4}}, "colour gray"},
		{raw(func(*Settings) {}), Input{DType: "int64", Shape: []int{1, 3, 4, 4}}, "int64"},
	} {
		if _, err := c.s.Prepare(ramp(8, 8), c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	if r, err := ParseResize("256x128"); err != nil || r.Exact != (Size{256, 128}) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := ParseResize("256"); err != nil || r.Shorter != 256 {
		t.Errorf("%+v, %v", r, err)
	}
	if v, err := ParseTriple("0.5"); err != nil || v != [3]float64{0.5, 0.5, 0.5} {
		t.Errorf("%v, %v", v, err)
	}
	for _, bad := range []string{"", "0", "-1", "1x", "axb", "99999999", "1x2x3"} {
		if _, err := ParseResize(bad); err == nil {
			t.Errorf("ParseResize(%q): no error", bad)
		}
	}
	for _, bad := range []string{"", "1,2", "nan", "1,2,x"} {
		if _, err := ParseTriple(bad); err == nil {
			t.Errorf("ParseTriple(%q): no error", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var p, j, b bytes.Buffer
	for _, err := range []error{png.Encode(&p, ramp(2, 2)), jpeg.Encode(&j, ramp(2, 2), nil), bmp.Encode(&b, ramp(2, 2))} {
		if err != nil {
			f.Fatal(err)
		}
	}
	for _, s := range [][]byte{p.Bytes(), j.Bytes(), b.Bytes()} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		img, err := Decode(file)
		if err != nil {
			return
		}
		s, _ := FindPreset("imagenet")
		s.Filter = Nearest
		if r, err := s.Prepare(img, Input{DType: "uint8", Shape: []int{1, 3, 8, 8}}); err == nil && len(r.Data) != 3*8*8 {
			t.Errorf("%d bytes", len(r.Data))
		}
	})
}
