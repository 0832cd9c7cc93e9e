package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/tool/npz"
	"lathe/internal/tool/picture"
)

func dot(t testing.TB, red uint8) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	for i := range 4 {
		img.SetNRGBA(i%2, i/2, color.NRGBA{red, 0, 0, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tree writes files and returns their folder. A name that ends in .png without content is a picture.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		b := []byte(text)
		if text == "" {
			b = dot(t, uint8(len(name)))
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func archive(t testing.TB, arrays ...npz.Array) string {
	t.Helper()
	var b bytes.Buffer
	if err := npz.Write(&b, arrays); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(s *Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v:", s.Kind, s.Classes)
	for _, x := range s.Samples {
		fmt.Fprintf(&b, " %s=%d", x.Name, x.Class)
	}
	return b.String()
}

// Every form of a data set, and what it is read as.
func TestForms(t *testing.T) {
	cifar := strings.Repeat("\x03"+strings.Repeat("\x10", 1024)+strings.Repeat("\x20", 1024)+strings.Repeat("\x30", 1024), 2)
	rows := archive(t, npz.Array{Name: "data", DType: "uint8", Shape: []int{2, 3}, Data: []byte{1, 2, 3, 4, 5, 6}}, npz.Array{Name: "label", DType: "int32", Shape: []int{2}, Data: []byte{1, 0, 0, 0, 0, 0, 0, 0}})
	unlabelled := archive(t, npz.Array{Name: "data", DType: "uint8", Shape: []int{2, 3}, Data: []byte{1, 2, 3, 4, 5, 6}})
	for _, c := range []struct {
		name  string
		files map[string]string
		path  string
		o     Options
		want  string
	}{
		{"folders", map[string]string{"b/1.png": "", "a/2.png": "", "a/deep/3.PNG": "", "a/readme": "x", ".git/4.png": ""}, "", Options{}, "folder for each class [a b]: a/2.png=0 a/deep/3.PNG=0 b/1.png=1"},
		{"folders by the network's classes", map[string]string{"b/1.png": "", "a/2.png": ""}, "", Options{Classes: []string{"b", "c", "a"}}, "folder for each class [b c a]: a/2.png=2 b/1.png=0"},
		{"folders in other words", map[string]string{"n01/1.png": "", "n02/2.png": ""}, "", Options{Classes: []string{"tench", "hen"}}, "folder for each class [tench hen]: n01/1.png=0 n02/2.png=1"},
		{"a list", map[string]string{"l.csv": "x/1.png,2\nx/2.png,0\n", "x/1.png": "", "x/2.png": ""}, "l.csv", Options{}, "list of files []: x/1.png=2 x/2.png=0"},
		{"a list with a head and names", map[string]string{"l.csv": "width,label,file\n2,cat,x/1.png\n2,ant,x/2.png\n"}, "l.csv", Options{}, "list of files [ant cat]: x/1.png=1 x/2.png=0"},
		{"flat, labels by name of the file", map[string]string{"p/2.png": "", "p/1.png": "", "y.csv": "1.png,5\n2.png,6\n"}, "p", Options{Labels: "y.csv"}, "folder []: 1.png=5 2.png=6"},
		{"flat, a label a line, from 1 on", map[string]string{"p/2.png": "", "p/1.png": "", "y.txt": "2\n1\n"}, "p", Options{Labels: "y.txt", Offset: -1}, "folder []: 1.png=1 2.png=0"},
		{"flat without labels", map[string]string{"2.png": "", "1.png": ""}, "", Options{}, "folder []: 1.png=-1 2.png=-1"},
		{"pets", map[string]string{"annotations/test.txt": "#Image CLASS\nred_cat_2 2 1 1\ndog_7 1 2 1\n", "images/red_cat_2.jpg": ""}, "", Options{}, "Oxford-IIIT Pet [dog red_cat]: images/red_cat_2.jpg=1 images/dog_7.jpg=0"},
		{"MLPerf Tiny", map[string]string{"y_labels.csv": "a.bin,12,7\nb.bin,12,2\n", "a.bin": "ab", "b.bin": "cd"}, "", Options{}, "MLPerf Tiny []: a.bin=7 b.bin=2"},
		{"CIFAR-10", map[string]string{"test_batch.bin": cifar, "batches.meta.txt": "p q r s\n"}, "", Options{}, "CIFAR-10 [p q r s]: test_batch.bin[0]=3 test_batch.bin[1]=3"},
		{"arrays", map[string]string{"x.npz": rows}, "x.npz", Options{}, "arrays of numpy []: x.npz[0]=1 x.npz[1]=0"},
		{"arrays and a list", map[string]string{"x.npz": unlabelled, "y.csv": "cat\nant\n"}, "x.npz", Options{Labels: "y.csv"}, "arrays of numpy [ant cat]: x.npz[0]=1 x.npz[1]=0"},
		{"arrays and an array", map[string]string{"x.npz": unlabelled, "y.npz": archive(t, npz.Array{Name: "any", DType: "uint8", Shape: []int{2, 3}, Data: []byte{0, 9, 1, 9, 0, 1}})}, "x.npz", Options{Labels: "y.npz"}, "arrays of numpy []: x.npz[0]=1 x.npz[1]=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, c.files)
			if c.o.Labels != "" {
				c.o.Labels = filepath.Join(dir, c.o.Labels)
			}
			s, err := Open(filepath.Join(dir, c.path), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			again, err := Open(filepath.Join(dir, c.path), c.o)
			if err != nil || again.Digest() != s.Digest() {
				t.Errorf("read again: %v, digest %s and %s", err, again.Digest(), s.Digest())
			}
			s.Samples[0].Class++
			if s.Digest() == again.Digest() {
				t.Error("the digest does not depend on classes")
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		path  string
		o     Options
		want  string
	}{
		{map[string]string{"x": "1"}, "absent", Options{}, "no such file"},
		{map[string]string{"x": "1"}, "", Options{}, "no known form"},
		{map[string]string{"a/x.txt": "1"}, "", Options{}, "no samples"},
		{map[string]string{"a/1.png": "", "c/1.png": ""}, "", Options{Classes: []string{"a", "b"}}, `folder "c" is none of the 2 classes`},
		{map[string]string{"l.csv": "1.png,37\n"}, "l.csv", Options{Classes: []string{"a"}}, "class 37, and classes are 0 to 0"},
		{map[string]string{"l.csv": "1.png,0\n"}, "l.csv", Options{Offset: -1}, "classes begin at 0"},
		{map[string]string{"l.csv": "1.png,dgo\n"}, "l.csv", Options{Classes: []string{"dog"}}, `label "dgo" is none of the 1 class; did you mean dog?`},
		{map[string]string{"l.csv": "1.png,0\n1.png,0\n"}, "l.csv", Options{}, "twice"},
		{map[string]string{"l.csv": "1.png,0\n2.png\n"}, "l.csv", Options{}, "line 2 has 1 column"},
		{map[string]string{"l.csv": "a,b,c,d\n"}, "l.csv", Options{}, "does not name file and label"},
		{map[string]string{"1.png": "", "y.csv": "0\n1\n"}, "", Options{Labels: "y.csv"}, "2 labels for 1 sample"},
		{map[string]string{"1.png": "", "y.csv": "0\x00"}, "", Options{Labels: "y.csv"}, "is no text"},
		{map[string]string{"annotations/test.txt": "cat_1 0 1 1\n"}, "", Options{}, "line 1 is not of the form"},
		{map[string]string{"x.bin": "1"}, "x.bin", Options{}, "no records of 3073"},
		{map[string]string{"x.npz": archive(t, npz.Array{Name: "y", DType: "float32", Shape: []int{1}, Data: []byte{0, 0, 0, 63}})}, "x.npz", Options{}, "0.5 is no class"},
		{map[string]string{"x.npz": archive(t, npz.Array{Name: "x", DType: "uint8", Shape: []int{}, Data: []byte{0}})}, "x.npz", Options{}, "first axis"},
	} {
		dir := tree(t, c.files)
		if c.o.Labels != "" {
			c.o.Labels = filepath.Join(dir, c.o.Labels)
		}
		_, err := Open(filepath.Join(dir, c.path), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A broken picture is an error of its sample alone, which names it.
func TestBadSample(t *testing.T) {
	s, err := Open(tree(t, map[string]string{"a/1.png": "no picture", "a/2.png": ""}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(0); err == nil || !strings.Contains(err.Error(), "sample a/1.png") {
		t.Errorf("error %v", err)
	}
	if _, err := s.Read(1); err != nil {
		t.Error(err)
	}
}

// A third of 10, 5 and 1 samples of three classes is 3, 2 and 0: five of 16. It is the same each time, and another with another seed.
func TestFraction(t *testing.T) {
	s := &Set{}
	for i := range 16 {
		class := map[bool]int{true: 0, false: 1}[i < 10]
		if i == 15 {
			class = 2
		}
		s.Samples = append(s.Samples, Sample{Name: fmt.Sprint(i), Class: class})
	}
	a, b, c := s.Fraction(1.0/3, 12345), s.Fraction(1.0/3, 12345), s.Fraction(1.0/3, 1)
	of := map[int]int{}
	for _, x := range a.Samples {
		of[x.Class]++
	}
	if of[0] != 3 || of[1] != 2 || of[2] != 0 {
		t.Errorf("%v", of)
	}
	if text(a) != text(b) || text(a) == text(c) {
		t.Errorf("%s\n%s\n%s", text(a), text(b), text(c))
	}
	if all := s.Fraction(1, 7); text(all) != text(s) {
		t.Errorf("all: %s", text(all))
	}
	if one := s.Fraction(0.001, 7); len(one.Samples) != 1 {
		t.Errorf("least: %s", text(one))
	}
}

func f32(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestFill(t *testing.T) {
	plain, _ := picture.FindPreset("raw")
	plain.Resize = picture.Resize{None: true}
	unit, _ := picture.FindPreset("unit")
	grey := image.NewGray(image.Rect(0, 0, 2, 1))
	grey.Pix[0], grey.Pix[1] = 255, 51
	array := func(dtype string, shape []int, data ...byte) Value {
		return Value{Arrays: []npz.Array{{Name: "any", DType: dtype, Shape: shape, Data: data}}}
	}
	for _, c := range []struct {
		name string
		v    Value
		in   Input
		s    picture.Settings
		want []byte
	}{
		{"picture", Value{Picture: grey}, Input{DType: "float32", Shape: []int{1, 1, 1, 2}}, plain, f32(255, 51)},
		{"picture, bytes", Value{Picture: grey}, Input{DType: "int8", Shape: []int{1, 1, 1, 2}}, unit, []byte{127, 0xb3}},
		// 1/0.5 - 3 is -1, 0.2/0.5 is 0.4, which is 0.
		{"picture, quantised", Value{Picture: grey}, Input{DType: "int8", Shape: []int{1, 1, 1, 2}, Scale: 0.5, Zero: -3}, chosen(unit), []byte{0xff, 0xfd}},
		{"picture, quantised, nothing chosen", Value{Picture: grey}, Input{DType: "int8", Shape: []int{1, 1, 1, 2}, Scale: 0.5, Zero: -3}, unit, []byte{127, 0xb3}},
		{"picture, normalised by the model", Value{Picture: grey}, Input{DType: "float32", Shape: []int{1, 1, 1, 2}, Mean: []float64{51}, Std: []float64{2}}, unit, f32(102, 0)},
		{"array as it is", array("int8", []int{2}, 1, 2), Input{DType: "int8", Shape: []int{1, 2}}, plain, []byte{1, 2}},
		{"whole numbers", array("uint8", []int{2}, 1, 200), Input{DType: "float32", Shape: []int{2}}, plain, f32(1, 200)},
		{"whole numbers of a scale", array("int8", []int{2}, 1, 0xff), Input{DType: "float32", Shape: []int{2}, Raw: Raw{Scale: 0.5, Zero: 3}}, plain, f32(-1, -2)},
		{"floats, quantised", array("float32", []int{4}, f32(1, -0.25, 100, -100)...), Input{DType: "uint8", Shape: []int{4}, Scale: 0.5, Zero: 8}, plain, []byte{10, 8, 208, 0}},
		{"raw, of the input's type", array(raw, []int{8}, f32(1, 2)...), Input{DType: "float32", Shape: []int{1, 2}}, plain, f32(1, 2)},
		{"raw, of a quantised network", array(raw, []int{2}, 1, 0xff), Input{DType: "float32", Shape: []int{1, 2}, Raw: Raw{Scale: 2}}, plain, f32(2, -2)},
		{"raw, unsigned", array(raw, []int{2}, 1, 0xff), Input{DType: "float32", Shape: []int{1, 2}, Raw: Raw{Scale: 2, Unsigned: true}}, plain, f32(2, 510)},
		{"bytes that only look like a picture", Value{Picture: grey, Arrays: []npz.Array{{DType: "uint8", Shape: []int{1, 2}, Data: []byte{3, 4}}}}, Input{DType: "float32", Shape: []int{1, 1, 2}}, raw16(plain), f32(3, 4)},
	} {
		got, err := c.v.Fill(c.in, c.s)
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	two := Value{Arrays: []npz.Array{{Name: "a", DType: "int8", Shape: []int{1}, Data: []byte{1}}, {Name: "b", DType: "int8", Shape: []int{1}, Data: []byte{2}}}}
	if got, err := two.Fill(Input{Name: "b", DType: "int8", Shape: []int{1}}, plain); err != nil || !slices.Equal(got, []byte{2}) {
		t.Errorf("by name: %v, %v", got, err)
	}
	for _, c := range []struct {
		v    Value
		in   Input
		want string
	}{
		{two, Input{Name: "c", DType: "int8", Shape: []int{1}}, `nothing for input "c" among "a", "b"`},
		{array("int8", []int{2}, 1, 2), Input{DType: "int8", Shape: []int{3}}, "takes [3]"},
		{array("uint8", []int{1}, 200), Input{DType: "int8", Shape: []int{1}}, "does not fit into int8"},
		{array("float32", []int{1}, f32(0.5)...), Input{DType: "int8", Shape: []int{1}}, "the scale of input"},
		{array(raw, []int{3}, 1, 2, 3), Input{DType: "float32", Shape: []int{2}}, "3 bytes are no 2 elements"},
	} {
		if _, err := c.v.Fill(c.in, plain); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// raw16 asks for a layout that the input has not, so that a picture does not fit.
func raw16(s picture.Settings) picture.Settings {
	s.Layout = picture.NHWC
	return s
}

func TestParseRaw(t *testing.T) {
	if r, err := ParseRaw("0.5,-3"); err != nil || r != (Raw{0.5, -3, false}) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := ParseRaw("0.5,3,uint8"); err != nil || r != (Raw{0.5, 3, true}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{"", "1", "0,1", "nan,1", "inf,1", "1,x", "1,2,int16", "1,2,int8,4"} {
		if _, err := ParseRaw(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"a.png,1\n", "file,label\na,b\n", "1\n2\n", "a.bin,12,7\n", archive(f, npz.Array{Name: "y", DType: "int32", Shape: []int{1}, Data: make([]byte, 4)})} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLabels(b)
		if err != nil {
			return
		}
		s := &Set{}
		numbers, err := l.classes(s, Options{})
		if err == nil && len(numbers) != len(l.texts) || l.named() && len(l.files) != len(l.texts) {
			t.Errorf("%d classes of %d labels for %d files", len(numbers), len(l.texts), len(l.files))
		}
		for _, n := range numbers {
			if n < 0 {
				t.Errorf("class %d", n)
			}
		}
	})
}

func FuzzPets(f *testing.F) {
	f.Add([]byte("#Image CLASS SPECIES BREED\nred_cat_2 2 1 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Set{}
		if s.pets(".", b) == nil {
			for _, x := range s.Samples {
				if x.Class < 0 || x.Class >= len(s.Classes) {
					t.Errorf("class %d of %d", x.Class, len(s.Classes))
				}
			}
		}
	})
}

func chosen(s picture.Settings) picture.Settings {
	s.Chosen = true
	return s
}
