package looppass

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// maxUnroll bounds the extent of a loop that is unrolled to make a tile's conditions constant.
const maxUnroll = 16

// tightenBorders takes over conditions that became constant as bounds of unrolled and vector loops, and unrolls the
// serial loops on which a condition inside a tile still depends: a column tap of a border tile becomes a constant. Loops
// around the one that workers divide stay: every worker runs them.
func tightenBorders(f *loop.Func) error {
	f.Body = hoist(f.Body)
	if err := simplify(f); err != nil {
		return err
	}
	f.Body = unrollTaps(f.Body)
	f.Body = hoist(f.Body)
	return simplify(f)
}

func unrollTaps(s loop.Stmt) loop.Stmt {
	return loop.Rewrite(s, func(t loop.Stmt) loop.Stmt {
		f, ok := t.(*loop.For)
		if !ok || f.Kind != loop.Serial {
			return t
		}
		n, ok := expr.IntOf(f.Extent)
		if !ok || n > maxUnroll || loop.Divided(f.Body) || !tapInTile(f.Body, f.Var) {
			return t
		}
		return &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: loop.Unrolled, Body: f.Body}
	})
}

// tapInTile reports whether a condition on v and on the variable of an unrolled or vector loop stands inside that loop,
// with nothing else variable in it.
func tapInTile(s loop.Stmt, v *expr.Var) bool {
	tiles := map[*expr.Var]bool{}
	found := false
	loop.Walk(s, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.For:
			if t.Kind.Copied() || t.Kind == loop.Vector {
				tiles[t.Var] = true
			}
		case *loop.If:
			tile, other := false, false
			expr.Walk(t.Cond, func(e expr.Expr) bool {
				if x, ok := e.(*expr.Var); ok && x != v {
					if tiles[x] {
						tile = true
					} else {
						other = true
					}
				}
				return true
			})
			found = found || tile && !other && expr.Uses(t.Cond, v)
		}
		return !found
	})
	return found
}
