package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	type shapes = map[string][]int
	type sizes = map[string]int
	for _, c := range []struct {
		text  string
		want  shapes
		sizes sizes
	}{
		{"data:[1,3,224,224]", shapes{"data": {1, 3, 224, 224}}, sizes{}},
		{"a/b.c:0:[1, 2] mask: [3]", shapes{"a/b.c:0": {1, 2}, "mask": {3}}, sizes{}},
		{"x:[],y:[4]", shapes{"x": {}, "y": {4}}, sizes{}},
		{"past:[1,8,0,64]", shapes{"past": {1, 8, 0, 64}}, sizes{}},
		{"batch=2 seq=12", shapes{}, sizes{"batch": 2, "seq": 12}},
		{"batch=2,ids:[2,12]; past+1 = 5", nil, nil},
		{"batch=2, ids:[2,12]; past+1=0", shapes{"ids": {2, 12}}, sizes{"batch": 2, "past+1": 0}},
		{"batch = 2  seq =3", shapes{}, sizes{"batch": 2, "seq": 3}},
	} {
		got, err := parseShapes(c.text)
		if c.want == nil {
			if c.want = (shapes{"ids": {2, 12}}); err != nil || got.sizes["past+1"] != 5 {
				t.Errorf("%q: got %v, %v", c.text, got, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, inputShapes{c.want, c.sizes}) {
			t.Errorf("%q: got %v, %v, want %v, %v", c.text, got, err, c.want, c.sizes)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "must be of the form"}, {"data", "must be of the form"}, {"data:[1,2", "must be of the form"},
		{"[1,2]", "must be of the form"}, {"data [1]", "must be of the form"}, {"x:[1] y", "must be of the form"},
		{"x:[a]", `"a" is not a whole number`}, {"x:[1] x:[2]", "given twice"}, {"n=1 n=1", "given twice"},
		{"x:[99999999999999999999]", "not a whole number"}, {"n=", "not a whole number"}, {"n=two", "not a whole number"}, {"=3", "must be of the form"},
		{"x:[-1,3]", "as in --input-shapes 'x:[1,3]'"}, {"x:[2,?,1..8,1|16]", "as in --input-shapes 'x:[2,1,1,1]'"}, {"batch=?", "as in --input-shapes 'batch=1'"},
		{"batch=1..8", "stays open"}, {"seq=1|16|128", "stays open"}, {"seq=1|2..512", "stays open"}, {"seq=-1", "stays open"},
	} {
		if _, err := parseShapes(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"16000": "int64 [] [128 62 0 0 0 0 0 0]", "[]": "int64 [0] []", "[true,False]": "int64 [2] [1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]",
		"-0.5": "float64 [] [0 0 0 0 0 0 224 191]", "[[1,2], [3,4] ]": "int64 [2 2]", "[1,0.5]": "float64 [2]", "inf": "float64 []", "[[],[]]": "int64 [2 0] []",
	} {
		got, err := parseValue(text)
		if s := fmt.Sprint(got.DType, " ", got.Shape, " ", got.Data); err != nil || !strings.HasPrefix(s, want) {
			t.Errorf("%q: %s, %v, want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"x", "[1", "[1 2]", "[1,]", "1]", "[[1],[1,2]]", "[1,[2]]", strings.Repeat("[", 1000), "1 2", "--1"} {
		if got, err := parseValue(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// FuzzFlags: what --input-shapes and --fix take does not upset the parsers, and what they read holds together.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"data:[1,3]", "batch=2 seq=12", "x:[?]", "[[1,2],[3,4]]", "1e3", "n=1|2..3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseShapes(text); err == nil {
			for name, n := range s.sizes {
				if name == "" || n < 0 {
					t.Errorf("%q: %q=%d", text, name, n)
				}
			}
		}
		v, err := parseValue(text)
		if err != nil {
			return
		}
		n := 8
		for _, d := range v.Shape {
			n *= d
		}
		if n != len(v.Data) {
			t.Errorf("%q: %v has %d bytes", text, v.Shape, len(v.Data))
		}
	})
}
