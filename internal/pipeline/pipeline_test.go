package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// step appends its name to the IR, a list of names.
func step(name string, level int, required bool) Pass[*[]string] {
	return Pass[*[]string]{Name: name, Level: level, Required: required, Run: func(ir *[]string) error {
		*ir = append(*ir, name)
		return nil
	}}
}

var table = []Pass[*[]string]{step("a", 0, true), step("b", 2, false), step("c", 3, false), step("d", 0, false)}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		o    Options[*[]string]
		want string
	}{
		{Options[*[]string]{Level: 0}, "a d"},
		{Options[*[]string]{Level: 2}, "a b d"},
		{Options[*[]string]{Level: 3}, "a b c d"},
		{Options[*[]string]{Level: 3, Disabled: []string{"a", "b"}}, "a c d"},
		{Options[*[]string]{Level: 3, StopAt: "b"}, "a b"},
	} {
		var ran, seen []string
		c.o.Before = func(name string, ir *[]string) {
			if slices.Contains(*ir, name) {
				t.Errorf("Before sees the IR after %s", name)
			}
		}
		c.o.After = func(name string, ir *[]string, took time.Duration) {
			seen = append(seen, name)
			if took < 0 || (*ir)[len(*ir)-1] != name {
				t.Errorf("After sees %v after %s", *ir, name)
			}
		}
		if err := Run(table, &ran, c.o); err != nil {
			t.Error(err)
		}
		if got := strings.Join(ran, " "); got != c.want || !slices.Equal(ran, seen) {
			t.Errorf("level %d: ran %q and showed %v, want %q", c.o.Level, got, seen, c.want)
		}
	}
}

// TestFailures: errors, panics and broken invariants name the pass.
func TestFailures(t *testing.T) {
	verify := func(ir *[]string) error {
		if len(*ir) > 1 {
			return errors.New("too long")
		}
		return nil
	}
	for _, c := range []struct {
		run  func(*[]string) error
		want string
	}{
		{func(*[]string) error { return errors.New("no luck") }, "pass x: no luck"},
		{func(*[]string) error { panic("broken") }, "pass x: internal error, a fault of Lathe and not of the model: broken (in pipeline"},
		{func(ir *[]string) error { *ir = []string{"1", "2"}; return nil }, "after pass x: too long"},
	} {
		later := false
		passes := []Pass[*[]string]{{Name: "x", Run: c.run}, {Name: "later", Run: func(*[]string) error { later = true; return nil }}}
		err := Run(passes, new([]string), Options[*[]string]{Verify: verify})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if later {
			t.Errorf("%s: the next pass ran", c.want)
		}
	}
}

func TestCheckOrder(t *testing.T) {
	if err := CheckOrder(table, []Order{{"a", "b", "reason"}, {"b", "d", "reason"}}); err != nil {
		t.Error(err)
	}
	for _, o := range []Order{{"b", "a", "it must"}, {"a", "zzz", "it must"}, {"zzz", "a", "it must"}, {"a", "a", "it must"}} {
		if err := CheckOrder(table, []Order{o}); err == nil || !strings.Contains(err.Error(), o.Before+" must run before "+o.After+": it must") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}
