package evaluate

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseGrid(t *testing.T) {
	axes, err := ParseGrid(`opt-level=1, 3; --target=llvm,"llvm -mattr=+a,-b" ;desired-layout=,NHWC;`)
	want := []Axis{{"opt-level", []string{"1", "3"}}, {"target", []string{"llvm", "llvm -mattr=+a,-b"}}, {"desired-layout", []string{"", "NHWC"}}}
	if err != nil || !reflect.DeepEqual(axes, want) {
		t.Fatalf("%+v, %v", axes, err)
	}
	var got []string
	for _, o := range Combinations(axes) {
		got = append(got, NameOf("net v1", o)+": "+o.String())
	}
	if want := []string{
		`net-v1.O1.llvm: --opt-level 1 --target llvm`,
		`net-v1.O1.llvm.NHWC: --opt-level 1 --target llvm --desired-layout NHWC`,
		`net-v1.O1.llvm-mattr-+a-b: --opt-level 1 --target 'llvm -mattr=+a,-b'`,
	}; !slices.Equal(got[:3], want) || len(got) != 8 {
		t.Errorf("%d:\n%s", len(got), strings.Join(got, "\n"))
	}
	if points := Combinations(nil); len(points) != 1 || points[0] != nil {
		t.Errorf("no grid: %v", points)
	}
}

func TestGridMistakes(t *testing.T) {
	many := strings.Repeat("1,", 0)
	for i := range 40 {
		many += "," + strings.Repeat("x", i+1)
	}
	for text, want := range map[string]string{
		"": "no axis", " ; ": "no axis", "opt-level": "not of the form", "=1": "not of the form", "a=1;a=2": "twice", "a=1,1": "twice", `a="1`: "does not end",
		"a=" + many + ";b=" + many: "more than 1000",
	} {
		if _, err := ParseGrid(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzGrid(f *testing.F) {
	f.Add(`opt-level=1,3; target=llvm,"llvm -mattr=+a,-b"`)
	f.Fuzz(func(t *testing.T, text string) {
		axes, err := ParseGrid(text)
		if err != nil {
			return
		}
		for _, o := range Combinations(axes) {
			if name := NameOf("x", o); name != fileName(name) || strings.ContainsAny(name, "/\x00 ") {
				t.Errorf("name %q", name)
			}
		}
	})
}

func TestReadConfig(t *testing.T) {
	list, err := ReadConfig([]byte(`{"experiments": [
		{"model": "a.onnx", "name": "first", "opt-level": 3, "desired-layout": ["NHWC", "NCHW"], "x": true},
		{"model": "b.tar"}]}`))
	want := []Experiment{
		{"first", "a.onnx", Options{{"desired-layout", "NHWC,NCHW"}, {"opt-level", "3"}, {"x", "true"}}},
		{"", "b.tar", nil},
	}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{
		"{}": "no experiments", "[]": "an object is wanted", `{"experiments": [{}]}`: "experiment 1 has no model",
		`{"experiments": [{"model": "m", "name": "a/b"}]}`: `"a/b" is no name of files`, `{"experiments": [{"model": {}}]}`: "model: is neither text nor a number",
		`{"experiments": [{"model": "m", "x": [[1]]}]}`: "list of lists", `{"experiments": [{"model": "m", "model": "n"}]}`: `"model" twice`,
	} {
		if _, err := ReadConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"experiments": [{"model": "a.onnx", "name": "n", "opt-level": 3, "l": ["a", 1]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ReadConfig(b)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.Model == "" {
				t.Error("no model")
			}
		}
	})
}
