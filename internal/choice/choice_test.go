package choice

import (
	"strings"
	"testing"
)

// TestLeast: the default costs least, and of equals it is the first.
func TestLeast(t *testing.T) {
	for want, costs := range [][]float64{{1, 2}, {2, 1}, {3, 2, 1, 1}} {
		var values []Value
		for _, c := range costs {
			values = append(values, Value{Cost: c})
		}
		if d := Least("way", values...); d.Default != want || d.Name != "way" || len(d.Values) != len(costs) {
			t.Errorf("of costs %v: %+v, want %d", costs, d, want)
		}
	}
}

// TestLog: a point decides what it names, among the values that there are; what was impossible can be forgotten, and a decision is
// asked once.
func TestLog(t *testing.T) {
	size := Decision{Name: "size", Values: Texts("small", "large")}
	l := Log{Chooser: Point{"size": "large"}}
	for _, want := range []string{"large", "large"} {
		i, err := l.Decide(size)
		if err != nil || size.Values[i].Text != want || l.Taken["size"] != want || len(l.Asked) != 1 {
			t.Fatalf("%d, %v: %+v", i, err, l)
		}
		if _, err := l.Decide(size); err == nil || !strings.Contains(err.Error(), "asked twice") {
			t.Fatalf("asked twice: %v", err)
		}
		if l.Undo(); len(l.Taken) > 0 || len(l.Asked) > 0 {
			t.Fatalf("%+v is left", l)
		}
	}
	if _, err := (Point{"size": "huge"}).Choose(size); err == nil || !strings.Contains(err.Error(), `no value "huge" here, but small, large`) {
		t.Errorf("a value that there is not: %v", err)
	}
	if i, err := (Preferred{"size": "huge"}).Choose(size); i != size.Default || err != nil {
		t.Errorf("preferred, but none: %d, %v", i, err)
	}
	if err := (Point{"sise": "large"}).Fits([]Decision{size}); err == nil || !strings.Contains(err.Error(), `did you mean size?`) {
		t.Errorf("a decision that there is not: %v", err)
	}
	if err := (Point{"size": "large"}).Fits([]Decision{size}); err != nil {
		t.Error(err)
	}
}
