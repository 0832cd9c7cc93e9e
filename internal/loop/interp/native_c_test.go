package interp_test

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/codegen/c"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
	"lathe/internal/testkit/cctest"
)

// TestCAgrees compares generated C with the interpreter, on the trials of TestNativeAgrees and with the same exceptions.
// Undefined behaviour ends the test.
func TestCAgrees(t *testing.T) {
	trials := allTrials()
	var names []string
	var texts strings.Builder
	for _, k := range trials {
		fn, err := c.Emit(k.f, k.f.Name)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fn.Support...)
		texts.WriteString(strings.Replace(fn.Text, "static void", "void", 1))
	}
	source := "#include <stdint.h>\n" + c.Support(slices.Compact(slices.Sorted(slices.Values(names)))) + texts.String()
	lib := cctest.Build(t, source, slices.Concat(cctest.Strict, cctest.Trapping, []string{"-O0", "-ffp-contract=off"})...)
	for _, k := range trials {
		want := k.args[2]
		got := tensor.New(want.DType, elements)
		lib.Call(t, k.f.Name, k.args[0].Bytes(), k.args[1].Bytes(), got.Bytes())
		if err := interp.Run(k.f, k.args, 1); err != nil {
			t.Errorf("%s: %v", k.f.Name, err)
			continue
		}
		compareTrial(t, k, got, want)
	}
}
