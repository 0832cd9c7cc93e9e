package target

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/cpu"
)

// TestCorrect: facts that are wrong beyond noise are those of the machine again, whichever they are and by whatever factor; what other measurements of the same machine would
// tell changes nothing, and what cores share is no fact that a measurement corrects.
func TestCorrect(t *testing.T) {
	spec, err := Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver3 -caches=32,512,16384")
	if err != nil {
		t.Fatal(err)
	}
	right, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &cpu.Machine{Caches: cpu.Caches{L1: 32, L2: 512, L3: 16384}, Clock: right.Clock}
	if got := right.Correct(m, right.Measure(right.Core)); got != right {
		t.Errorf("what is right becomes %s", got)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	corrected := 0
	for range 300 {
		wrong, c := *right, right.Core
		if rng.IntN(2) == 0 {
			by := []int{2, 4, 8}[rng.IntN(3)]
			wrong.L1, wrong.L2, wrong.L3 = right.L1/by, right.L2/by, right.L3/by
		}
		if by := rng.IntN(3); by > 0 {
			wrong.Units = max(1, right.Units*[]int{0, 2, 4}[by]/(rng.IntN(2)*2+1))
		}
		if rng.IntN(2) == 0 { // noise of the measurement
			c.Clock, c.L2Rate = c.Clock*9/10, max(1, c.L2Rate*3/4)
		}
		if rng.IntN(2) == 0 {
			c.Memory, c.L3Rate = c.Memory/3, c.L3Rate*3
		}
		got := wrong.Correct(m, right.Measure(c))
		changed := got != &wrong
		if changed {
			corrected++
		}
		if got.String() != right.String() {
			t.Errorf("%s becomes %s", &wrong, got)
		}
		if !changed && wrong.String() != right.String() {
			t.Errorf("%s is left", &wrong)
		}
		options, text := got.Differing(&wrong)
		if (options != "") != changed || (text != "") != changed {
			t.Errorf("differing %q, %q", options, text)
		}
		if !changed {
			continue
		}
		if again, err := wrong.With(options); err != nil || again.String() != right.String() {
			t.Errorf("%s with %s is %s, %v", &wrong, options, again, err)
		}
	}
	if corrected < 100 {
		t.Errorf("%d of 300 were corrected", corrected)
	}
	slow := *right
	slow.Clock /= 2
	if got := slow.Correct(&cpu.Machine{}, right.Measure(right.Core)); got.Clock != right.Clock || got.L1 != right.L1 {
		t.Errorf("a machine that tells nothing: %s", got)
	}
	if got := slow.Correct(&cpu.Machine{}, nil); got != &slow {
		t.Errorf("nothing is known, and the target becomes %s", got)
	}
}

// TestWith: facts alone change a target, and wrong ones are refused in a line that says so.
func TestWith(t *testing.T) {
	row, err := OfCPU(X86, "znver3")
	if err != nil {
		t.Fatal(err)
	}
	before := row.String()
	got, err := row.With("-caches=8,128,4096 -fma-units=1")
	if err != nil || got.L1 != 8<<10 || got.Units != 1 || row.String() != before {
		t.Errorf("%s, %v", got, err)
	}
	if _, text := row.Differing(got); !strings.Contains(text, "for 8,128,4096") || !strings.Contains(text, "fma-units 2 for 1") {
		t.Errorf("for people: %q", text)
	}
	for text, want := range map[string]string{
		"": "no facts", "-mcpu=znver4": `"-mcpu=znver4" is no fact of a machine`, "-fma-unit=2": "did you mean fma-units", "caches=1,2,3": "is no fact",
		"-fma-units=0": "from 1", "-fma-units": "has no value", "-caches=1,2": "three numbers", "-fma-units=1 -fma-units=2": "given twice",
	} {
		if _, err := row.With(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
