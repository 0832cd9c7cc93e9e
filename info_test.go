package lathe_test

import (
	"slices"
	"testing"

	"lathe"
	"lathe/internal/ops"
)

// TestOperators: every operator has a kernel, and those of each kind say which.
func TestOperators(t *testing.T) {
	kinds := map[string][]string{
		ops.Relu.Name: {"derived"}, ops.TopK.Name: {"extern"},
		ops.WinogradInput.Name: {"derived", "extern"}, ops.WinogradProduct.Name: {"derived", "anchor"}, ops.WinogradConv.Name: {"derived", "anchor"},
	}
	for _, o := range lathe.Operators() {
		if len(o.Implementations) == 0 {
			t.Errorf("%s has no implementation", o.Name)
		}
		if want := kinds[o.Name]; want != nil && !slices.Equal(o.Implementations, want) {
			t.Errorf("%s: %v instead of %v", o.Name, o.Implementations, want)
		}
		delete(kinds, o.Name)
	}
	if len(kinds) > 0 {
		t.Errorf("not listed: %v", kinds)
	}
}
