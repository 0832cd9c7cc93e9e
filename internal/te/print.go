package te

import (
	"fmt"
	"strings"

	"lathe/internal/expr"
)

// String prints the stages that outs need, one line each:
//
//	y: float32[8,16] = (i0, i1) sum(r0:32) (a[i0, r0] * b[r0, i1])
func String(outs ...*Stage) string {
	var b strings.Builder
	for _, s := range Order(outs...) {
		fmt.Fprintf(&b, "%s: %s", s.Name, s.Type)
		if s.Body != nil {
			names := make([]string, len(s.Axes))
			for i, v := range s.Axes {
				names[i] = v.Name
			}
			fmt.Fprintf(&b, " = (%s) ", strings.Join(names, ", "))
			if len(s.Reduce) > 0 {
				rs := make([]string, len(s.Reduce))
				for i, r := range s.Reduce {
					rs[i] = fmt.Sprintf("%s:%d", r.Var.Name, r.Extent)
				}
				fmt.Fprintf(&b, "%s(%s) ", s.Combine, strings.Join(rs, ", "))
			}
			b.WriteString(expr.String(s.Body))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
