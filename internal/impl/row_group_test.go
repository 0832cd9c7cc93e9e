package impl_test

import (
	"fmt"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
)

// TestRowGroups: short rows go through their stages together, those of different lines where a line divides into no groups, unless
// those of a group would be few for workers or none divides them; long rows, which hide their folds themselves, go one by one.
func TestRowGroups(t *testing.T) {
	for _, c := range []struct {
		cpu   string
		shape []int
		want  string
	}{
		{"sapphirerapids", []int{1536, 128}, "4"}, {"sapphirerapids", []int{2364, 400}, "2"}, {"sapphirerapids", []int{1536, 1024}, "1"},
		{"sapphirerapids", []int{1001, 128}, ""}, {"sapphirerapids", []int{16, 128}, ""}, {"sapphirerapids", []int{1536, 8}, ""},
		{"x86-64-v3", []int{1536, 200}, "2"}, {"x86-64-v3", []int{1536, 40}, "4"}, {"x86-64-v3", []int{1536, 512}, "1"},
		{"x86-64-v3", []int{12, 197, 197}, "2"}, {"x86-64-v3", []int{13, 197, 197}, ""}, {"x86-64-v3", []int{3, 12, 197, 40}, "4"},
		{"cortex-a76 -mtriple=aarch64-linux-gnu", []int{1536, 128}, "1"}, {"cortex-a76 -mtriple=aarch64-linux-gnu", []int{1536, 16}, "4"},
	} {
		t.Run(fmt.Sprintf("%s/%v", c.cpu, c.shape), func(t *testing.T) {
			k := lower.Lower("softmax", of(t, ops.Softmax, ops.SoftmaxAttrs{Axis: len(c.shape) - 1}, "", f32("", c.shape...)), lower.Options{})
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
