package compose

import (
	"slices"
	"testing"
)

// TestRange compares with the elements that Python's rules name one by one.
func TestRange(t *testing.T) {
	for n := range 5 {
		for begin := -6; begin <= 6; begin++ {
			for end := -6; end <= 6; end++ {
				for _, step := range []int{-7, -2, -1, 1, 2, 7} {
					for mask := range 4 {
						r := Range{Begin: begin, End: end, Step: step, NoBegin: mask&1 != 0, NoEnd: mask&2 != 0}
						b, e, s, count := r.Of(n)
						var got []int
						for i := b; s > 0 && i < e || s < 0 && i > e; i += s {
							got = append(got, i)
						}
						if want := elements(r, n); !slices.Equal(got, want) || len(want) != count {
							t.Fatalf("%+v of %d: %v and %d, want %v", r, n, got, count, want)
						}
					}
				}
			}
		}
	}
}

// elements walks from the first element to the last, one step after the other, and keeps those that are there.
func elements(r Range, n int) (list []int) {
	from, to := r.Begin, r.End
	if from < 0 {
		from += n
	}
	if to < 0 {
		to += n
	}
	if r.Step > 0 {
		if from < 0 || r.NoBegin {
			from = 0
		}
		for i := from; i < n && (i < to || r.NoEnd); i += r.Step {
			list = append(list, i)
		}
		return list
	}
	if from >= n || r.NoBegin {
		from = n - 1
	}
	for i := from; i >= 0 && (i > to || r.NoEnd); i += r.Step {
		list = append(list, i)
	}
	return list
}

func TestShapeFor(t *testing.T) {
	for _, c := range []struct {
		n              int
		target, copied []int
		want           []int
	}{
		{12, []int{3, -1}, nil, []int{3, 4}}, {12, []int{0, -1}, []int{2, 6}, []int{2, 6}}, {0, []int{0, 4}, nil, []int{0, 4}},
		{12, []int{5, -1}, nil, nil}, {12, []int{-1, -1}, nil, nil}, {12, []int{-2, 6}, nil, nil}, {0, []int{0, -1}, nil, nil},
	} {
		var got []int
		err := Try(func() { got = ShapeFor(c.n, c.target, c.copied) })
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%v: %v (%v), want %v", c.target, got, err, c.want)
		}
	}
}
