package winograd

import (
	"testing"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestFetched: the groups of a block ask together for the weights of as many factors as they multiply by, each line at most twice, however many groups and
// vectors there are.
func TestFetched(t *testing.T) {
	w, err := ops.WinogradOf(4, []int{3, 3}, []int{1, 1}, []int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, lanes := range []int{8, 16} {
		for vecs := 1; vecs <= 4; vecs++ {
			for block := 1; block <= 24; block++ {
				const blocks, rows = 3, 4
				weight := build.Param("weight", types.F32, 1, w.Products(), blocks*lanes, vecs*lanes)
				p := products{
					tileGrid: tileGrid{w, 1, block * rows, 1}, Anchor: impl.Anchor{}, weight: weight, vecs: vecs, block: block, together: 1, steps: lanes, fetch: 1,
					data: tiledData{build.Param("data", types.F32, block, blocks, w.Products(), rows, lanes), block, w.Products(), blocks, rows, lanes},
				}
				p.sums = p.newSums()
				asked, panel := loop.LineBytes*fetched(t, p.multiply(expr.Index(0), expr.Index(0)), 1), types.F32.Size()*types.Count(weight.Shape)
				if asked < panel || asked > 2*panel {
					t.Errorf("%d groups by %d vectors of %d lanes: %d bytes are asked for, and %d are multiplied by", block, vecs, lanes, asked, panel)
				}
			}
		}
	}
}

// fetched is the number of lines that statements ask for, which run so many times.
func fetched(t *testing.T, s loop.Stmt, times int) (lines int) {
	t.Helper()
	switch s := s.(type) {
	case *loop.Seq:
		for _, one := range s.List {
			lines += fetched(t, one, times)
		}
	case *loop.For:
		n, ok := expr.IntOf(arith.Ranges{}.Simplify(s.Extent))
		if !ok {
			t.Fatalf("an extent is %s", expr.String(s.Extent))
		}
		lines = fetched(t, s.Body, times*int(n))
	case *loop.Let:
		lines = fetched(t, s.Body, times)
	case *loop.Alloc:
		lines = fetched(t, s.Body, times)
	case *loop.Prefetch:
		lines = times * s.Lines
	}
	return lines
}
