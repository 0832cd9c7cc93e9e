package spelling

import (
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	known := []string{"compile", "run", "tune", "inspect", "--output", "--output-format", "skylake-avx512", "skylake"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"complie", []string{"compile"}},
		{"rnu", []string{"run"}},
		{"--ouptut", []string{"--output"}},
		{"--outpu", []string{"--output", "--output-format"}},
		{"skylake-avx521", []string{"skylake-avx512"}},
		{"SkyLake", []string{"skylake"}},
		{"banana", nil},
		{"", nil},
	} {
		if got := Near(c.name, known); !slices.Equal(got, c.want) {
			t.Errorf("Near(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	if got := Hint("tnue", known); got != "; did you mean tune?" {
		t.Errorf("Hint = %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
