package tune

import (
	"maps"
	"testing"

	"lathe/internal/choice"
)

// TestIdle: a value is left out behind two pairs of points of equal code that differ in it, in whatever order they come, and not where one pair has other
// code.
func TestIdle(t *testing.T) {
	points := []struct {
		choice.Point
		code string
	}{
		{nil, "a"}, {choice.Point{"prefetch": "off"}, "a"}, {choice.Point{"tile": "2"}, "b"}, {choice.Point{"tile": "2", "prefetch": "off"}, "b"},
		{choice.Point{"steps": "1"}, "a"}, {choice.Point{"steps": "1", "tile": "2"}, "c"}, {choice.Point{"order": "1"}, "a"}, {choice.Point{"epilogue": "rolled"}, ""},
	}
	for turn := range points {
		var d idle
		for i := range points {
			p := points[(i+turn)%len(points)]
			d.add(p.Point, p.code)
			d.add(p.Point, p.code) // again: no further pair
		}
		all := choice.Point{"prefetch": "off", "steps": "1", "order": "1", "epilogue": "rolled"}
		got := d.without(all)
		if want := (choice.Point{"steps": "1", "order": "1", "epilogue": "rolled"}); !maps.Equal(got, want) {
			t.Errorf("in turn %d it leaves %v, want %v", turn, got, want)
		}
		if len(all) != 4 {
			t.Fatal("it changes the point that it is asked of")
		}
	}
}

// TestIdleProposals: what makes no difference is proposed a few times only.
func TestIdleProposals(t *testing.T) {
	s := &search{Task: &Task{}, root: &Built{Object: "host"}, seen: map[string]bool{}}
	for _, p := range []choice.Point{{"prefetch": "off"}, {"tile": "2"}, {"tile": "2", "prefetch": "off"}} {
		code := "host"
		if p["tile"] != "" {
			code = "other"
		}
		s.add(&Trial{Built: Built{Candidate: Candidate{0, p}, Object: code, Same: code == "host"}, Estimate: Estimate{1, 1, 1, 1}})
	}
	if list := s.try(3, choice.Point{"prefetch": "off", "steps": "2"}, choice.Point{"steps": "2"}, choice.Point{"tile": "2", "prefetch": "off"}); len(list) != 1 || !maps.Equal(list[0], choice.Point{"steps": "2"}) {
		t.Errorf("%v are proposed", list)
	}
}
