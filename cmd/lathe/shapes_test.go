package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string][]int
	}{
		{"data:[1,3,224,224]", map[string][]int{"data": {1, 3, 224, 224}}},
		{"a/b.c:0:[1, 2] mask: [3]", map[string][]int{"a/b.c:0": {1, 2}, "mask": {3}}},
		{"x:[],y:[4]", map[string][]int{"x": {}, "y": {4}}},
	} {
		got, err := parseShapes(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "must be of the form"}, {"data", "must be of the form"}, {"data:[1,2", "must be of the form"},
		{"[1,2]", "must be of the form"}, {"data [1]", "must be of the form"}, {"x:[1] y", "must be of the form"},
		{"x:[a]", `"a" is not a whole number`}, {"x:[-1,3]", "stays open"}, {"x:[1] x:[2]", "given twice"},
		{"x:[99999999999999999999]", "not a whole number"},
	} {
		if _, err := parseShapes(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}
