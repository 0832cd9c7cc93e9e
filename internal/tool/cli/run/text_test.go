package run

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// The block that tvmc's documentation shows, with its centring.
func TestTimeTable(t *testing.T) {
	got := TimeTable([]float64{0.1, 0.2, 0.4, 0.1})
	want := "Execution time summary:\n" +
		" mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n" +
		"  200.0000     150.0000     400.0000     100.0000     122.4745                 "
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// Expected texts are those of numpy 1.24.
func TestNumpyText(t *testing.T) {
	for _, c := range []struct {
		places int
		values []float64
		want   string
	}{
		{2, []float64{0.5, 0.25}, "[[0.   1.  ]\n [0.5  0.25]]"},
		{3, []float64{-1, 10, 2}, "[[ 1.  2.  0.]\n [10.  2. -1.]]"},
		{2, []float64{0.123456789, 0.9}, "[[1.         0.        ]\n [0.9        0.12345679]]"},
		{2, []float64{0.00001, 5}, "[[1.e+00 0.e+00]\n [5.e+00 1.e-05]]"},
		{2, []float64{2e9, 1.5e9}, "[[0.0e+00 1.0e+00]\n [2.0e+09 1.5e+09]]"},
		{4, []float64{-5.5, 1e-3, math.Inf(1), 3}, "[[ 2.0e+00  3.0e+00  1.0e+00  0.0e+00]\n [     inf  3.0e+00  1.0e-03 -5.5e+00]]"},
		{2, []float64{float64(float32(0.1)), 0}, "[[0.  1. ]\n [0.1 0. ]]"},
	} {
		s := &scores{values: c.values}
		if got := s.array(c.places); got != c.want {
			t.Errorf("%v:\ngot\n%s\nwant\n%s", c.values, got, c.want)
		}
	}
}

// Lines break where numpy's do.
func TestNumpyTextWraps(t *testing.T) {
	floats, ints := &scores{}, &scores{integer: true}
	for i := range 30 {
		floats.values = append(floats.values, float64(30-i)+0.123456)
		ints.values = append(ints.values, float64(30-i))
	}
	golden.Check(t, "numpy", []byte(floats.array(30)+"\n"+ints.array(30)+"\n"))
}

func TestTop(t *testing.T) {
	s := &scores{values: []float64{1, math.NaN(), 3, 3, -5}}
	if got := s.top(3); !slices.Equal(got, []int{2, 3, 0}) {
		t.Errorf("top 3 = %v", got)
	}
	if got := s.top(9); len(got) != 5 {
		t.Errorf("top 9 = %v", got)
	}
	if p, already := (&scores{values: []float64{0.25, 0.75}}).probabilities(); !already || p[1] != 0.75 {
		t.Errorf("%v, %t", p, already)
	}
	if p, already := (&scores{values: []float64{1000, 1000}}).probabilities(); already || p[0] != 0.5 {
		t.Errorf("%v, %t", p, already)
	}
	if _, err := scoresOf(npz.Array{DType: "float32", Shape: []int{1, 0}}, runtime.TensorInfo{}); err == nil {
		t.Error("an empty output gives no error")
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"cat\ndog\n", []string{"cat", "dog"}},
		{"n01440764 tench, Tinca tinca\r\nn01443537 goldfish\r\n", []string{"tench, Tinca tinca", "goldfish"}},
		{"{0: 'tench, Tinca tinca',\n 2: \"jack-o'-lantern\",\n 3: 'potter\\'s wheel'}", []string{"tench, Tinca tinca", "class 1", "jack-o'-lantern", "potter's wheel"}},
		{`["a", "b"]`, []string{"a", "b"}},
		{`{"1": ["n1", "b"], "0": "a"}`, []string{"a", "b"}},
	} {
		got, err := parseLabels(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{0: tench}", `{"x": "a"}`, `{"0": 1}`, `[1]`, `{"99999999": "a"}`, `{"-1": "a"}`} {
		if got, err := parseLabels(bad); err == nil {
			t.Errorf("%q: no error, got %q", bad, got)
		}
	}
}
