package machine

import (
	"slices"
	"testing"

	"lathe/internal/toolchain"
)

// TestMeasure checks what holds on any machine, busy or not: wider vectors are not much slower, and each loop of this
// machine gives a speed.
func TestMeasure(t *testing.T) {
	p, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := p.Measure(1)
	if got.Threads != 1 || got.FMA128 <= 0 || got.Read <= 0 || got.Float32() < got.FMA128 {
		t.Errorf("peaks %+v", got)
	}
	if got.FMA128 > 1e5 || got.Read > 1e5 {
		t.Errorf("a loop was optimised away: %+v", got)
	}
	t.Logf("%+v", got)
}

// The loops compile for machines that this one may not be.
func TestLoopsCompile(t *testing.T) {
	for cpu, want := range map[string][]string{
		"x86-64":    {"fma128", "read"},
		"haswell":   {"fma128", "fma256", "read"},
		"alderlake": {"fma128", "fma256", "dot256", "read"},
		"znver5":    {"fma128", "fma256", "fma512", "dot512", "read"},
	} {
		m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu", CPU: cpu})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, k := range kernelsFor(m.Features()) {
			names = append(names, k.name)
			if _, err := m.Compile(k.declare+"\n"+k.text(), ""); err != nil {
				t.Errorf("%s, %s: %v", cpu, k.name, err)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: loops %v, want %v", cpu, names, want)
		}
	}
}
