package winograd

import (
	"slices"
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

// TestDataFetched: a group asks for all that its products will read of as many blocks of channels as it multiplies by, each line about once, and for
// the block behind the one at hand.
func TestDataFetched(t *testing.T) {
	w, err := ops.WinogradOf(4, []int{3, 3}, []int{1, 1}, []int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	const groups, blocks, lanes = 2, 3, 16
	for _, rows := range []int{1, 4, 13, 25} {
		for steps := 1; steps <= lanes; steps *= 2 {
			shape := []int{groups, blocks, w.Products(), rows, lanes}
			if rows == 1 {
				shape = slices.Delete(shape, 3, 4)
			}
			p := products{
				tileGrid: tileGrid{w, 1, groups * rows, 1}, weight: build.Param("weight", types.F32, 1, w.Products(), blocks*lanes, lanes), vecs: 1, block: groups, together: 1,
				steps: steps, fetchData: 1, data: tiledData{build.Param("data", types.F32, shape...), groups, w.Products(), blocks, rows, lanes},
			}
			p.sums = p.newSums()
			lines, data := fetched(t, p.multiply(expr.Index(0), expr.Index(0)), 1), p.data.Bytes()/loop.LineBytes
			if lines < data || lines > 2*data {
				t.Errorf("%d rows, %d steps: %d lines are asked for, and data has %d", rows, steps, lines, data)
			}
			for block := range blocks { // the last one asks for the first block of the next group
				for _, c := range []int{0, 1} {
					one := prefetchOf(p.askingAhead(expr.Index(0), expr.Index(2), expr.Index(block), lanes/steps, func(ask func(c expr.Expr) loop.Stmt) loop.Stmt { return ask(expr.Index(c)) }))
					at := p.data.Strides()
					want := (block+1)*at[1] + 2*at[2]
					if rows > burst {
						want += c * one.Lines * lanes
					}
					if got, ok := expr.IntOf(arith.Ranges{}.Simplify(one.At)); !ok || int(got) != want {
						t.Errorf("%d rows, %d steps: time %d of block %d asks for element %s, want %d", rows, steps, c, block, expr.String(one.At), want)
					}
				}
			}
		}
	}
}

// prefetchOf is what the statement asks for.
func prefetchOf(s loop.Stmt) *loop.Prefetch {
	if seq, ok := s.(*loop.Seq); ok {
		return prefetchOf(seq.List[0])
	}
	return s.(*loop.Prefetch)
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
