package impl_test

import (
	"fmt"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
)

// TestRowGroups: short rows go through their stages together, unless those of a group would be few for workers or none divides
// them; long rows, which hide their folds themselves, go one by one.
func TestRowGroups(t *testing.T) {
	for _, c := range []struct {
		cpu           string
		rows, columns int
		want          string
	}{
		{"sapphirerapids", 1536, 128, "4"}, {"sapphirerapids", 2364, 197, "2"}, {"sapphirerapids", 1536, 1024, "1"},
		{"sapphirerapids", 1001, 128, ""}, {"sapphirerapids", 16, 128, ""}, {"sapphirerapids", 1536, 8, ""},
		{"x86-64-v3", 1536, 128, "2"}, {"x86-64-v3", 1536, 40, "4"}, {"x86-64-v3", 1536, 512, "1"},
		{"cortex-a76 -mtriple=aarch64-linux-gnu", 1536, 64, "1"}, {"cortex-a76 -mtriple=aarch64-linux-gnu", 1536, 16, "4"},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d", c.cpu, c.rows, c.columns), func(t *testing.T) {
			k := lower.Lower("softmax", of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, "", f32("", c.rows, c.columns)), lower.Options{})
			p, err := algorithms.Table.Choose(k, targettest.Resolve(t, "llvm -mcpu="+c.cpu), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Taken["group"]; p.Rule != "rows" || got != c.want {
				t.Errorf("rule %s, group %q; want %q", p.Rule, got, c.want)
			}
		})
	}
}
