package main

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"lathe/internal/testkit/tflitetest"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/npz"
)

// quantizedPackage is a compiled file of one function, max(x, 0), from int8 in steps of 1/2 to int8 in steps of 1/4.
func quantizedPackage(t *testing.T) string {
	t.Helper()
	const relu = 19
	in := tflitetest.Tensor{Name: "in", Type: 9, Shape: []int32{1, 1, 1, 3}, Scale: []float32{0.5}, Zero: []int64{3}}
	out := tflitetest.Tensor{Name: "out", Type: 9, Shape: []int32{1, 1, 1, 3}, Scale: []float32{0.25}, Zero: []int64{-1}}
	labels := tflitetest.Table{6: []tflitetest.Table{{0: "labels.txt", 2: int8(2)}}}
	file := tflitetest.Beside{
		Signatures: []tflitetest.Table{{0: []tflitetest.Table{{0: "image", 1: uint32(0)}}, 1: []tflitetest.Table{{0: "scores", 1: uint32(1)}}, 2: "serving_default", 4: uint32(0)}},
		Metadata:   tflitetest.Table{3: []tflitetest.Table{{2: []tflitetest.Table{{}}, 3: []tflitetest.Table{labels}}}}, Members: map[string]string{"labels.txt": "cat\ndog\nfox\n"},
	}.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{in, out}, Inputs: []int32{0}, Outputs: []int32{1}, Operators: []tflitetest.Operator{{Code: relu, In: []int32{0}, Out: []int32{1}}}})
	t.Chdir(t.TempDir())
	write(t, "net.tflite", file)
	if out, errs, code := latheCommand(t, "compile", "--input-shapes", "image:[1,1,1,3]", "-o", "net.tar", "net.tflite"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	return "net.tar"
}

// TestRunQuantized: floats become integers by the scale of the file, and come back with --dequantize; labels are those of the file.
func TestRunQuantized(t *testing.T) {
	pkg := quantizedPackage(t)
	in := saveNpz(t, npz.Array{Name: "image", DType: "float32", Shape: []int{1, 1, 1, 3}, Data: f32(1.2, -4, 100)})
	out, errs, code := latheCommand(t, "run", "-i", in, "--print-top", "2", "--dequantize", "-o", "out.npz", pkg)
	if code != 0 || !strings.Contains(errs, `input "image" is float32 and the model expects int8: rounded to steps of 0.5`) {
		t.Fatalf("%s%s", out, errs)
	}
	if !strings.Contains(out, "Predicted class: 2 (fox)") {
		t.Errorf("printed %s", out)
	}
	got, err := npz.ReadFile("out.npz")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{1, 0, 32} { // 1.2 is 1 in steps of 1/2, 100 saturates both
		if y := math.Float32frombits(binary.LittleEndian.Uint32(got[0].Data[4*i:])); y != want {
			t.Errorf("output %d is %v, not %v", i, y, want)
		}
	}
	out, errs, code = latheCommand(t, "run", "-i", in, "-o", "plain.npz", pkg)
	if got, err = npz.ReadFile("plain.npz"); code != 0 || err != nil || got[0].DType != "int8" || got[0].Data[0] != 3 {
		t.Errorf("%s%s%v %v", out, errs, got, err)
	}
}

// TestRunQuantizedPicture: a picture takes its values as they are unless a preset says otherwise, which then is quantised.
func TestRunQuantizedPicture(t *testing.T) {
	pkg := quantizedPackage(t)
	img := image.NewGray(image.Rect(0, 0, 1, 1))
	img.SetGray(0, 0, color.Gray{Y: 140})
	const picture = "gray.png"
	if err := cli.WriteFile(picture, func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags []string
		want  float32
	}{{nil, 4.5}, {[]string{"--resize", "1"}, 4.5}, {[]string{"--preprocess", "unit"}, 0.5}, {[]string{"--preprocess", "raw"}, 32}} {
		out, errs, code := latheCommand(t, append(append([]string{"run", "--image", picture, "--dequantize", "-o", "out.npz"}, c.flags...), pkg)...)
		got, err := npz.ReadFile("out.npz")
		if code != 0 || err != nil {
			t.Fatalf("%s%s%v", out, errs, err)
		}
		if y := math.Float32frombits(binary.LittleEndian.Uint32(got[0].Data)); y != c.want {
			t.Errorf("%v: %v, not %v", c.flags, y, c.want)
		}
	}
}
