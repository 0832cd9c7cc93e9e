package cpu_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/isa/x86"
	"lathe/internal/testkit/cputest"
	"lathe/internal/testkit/golden"
)

// TestRecordings pins what recorded machines are taken for.
func TestRecordings(t *testing.T) {
	var b bytes.Buffer
	for _, r := range cputest.Recordings() {
		m := r.Machine(^uint64(0))
		fmt.Fprintf(&b, "%s: %s, %s model %02X, caches %v KiB, %d MHz, %d bits\n", r.Name, m.Name, m.Family, m.Model, m.Caches, m.Clock, m.Datapath)
		all := m.Features()
		fmt.Fprintf(&b, "\t%s, %s\n", m.LevelOf(m.Has), strings.Join(all, " "))
		for _, mask := range cputest.Masks[1:] {
			less := r.Machine(mask.Keep)
			gone := slices.DeleteFunc(slices.Clone(all), less.Has)
			if len(gone) > 0 {
				fmt.Fprintf(&b, "\t%s: %s, %d features less\n", mask.Name, less.LevelOf(less.Has), len(gone))
			}
			if len(less.Features())+len(gone) != len(all) {
				t.Errorf("%s %s has features that the machine lacks", r.Name, mask.Name)
			}
		}
	}
	golden.Check(t, "recordings", b.Bytes())
}

// Every feature that a mask leaves has what it needs, and every row can be taken away.
func TestWithout(t *testing.T) {
	for _, r := range cputest.Recordings() {
		for _, mask := range cputest.Masks {
			m := r.Machine(mask.Keep)
			for _, f := range x86.Features.Rows {
				less, err := m.Without("-" + f.Name)
				if err != nil {
					t.Fatal(err)
				}
				if less.Has(f.Name) {
					t.Errorf("%s without %s has it", r.Name, f.Name)
				}
				for _, name := range less.Features() {
					if missing := less.Missing(strings.Fields(x86.Features.Row(name).Needs)); missing != nil || !m.Has(name) {
						t.Errorf("%s without %s has %s, which needs %v", r.Name, f.Name, name, missing)
					}
				}
				if !f.Code || !m.Has(f.Name) {
					continue
				}
				if m.Missing([]string{f.Name}) != nil || !slices.Equal(less.Missing([]string{f.Name, "warp-drive"}), []string{f.Name, "warp-drive"}) {
					t.Errorf("%s: %s is not missed", r.Name, f.Name)
				}
			}
		}
	}
	for _, wrong := range []string{"avx2", "+avx2", "-avx22", "-"} {
		if _, err := cputest.Recordings()[0].Machine(0).Without(wrong); err == nil {
			t.Errorf("%q is taken for a mask", wrong)
		}
	}
}

// TestThis asks this machine, and again with features taken away.
func TestThis(t *testing.T) {
	m, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Features()) == 0 || m.Name == "" {
		t.Errorf("this machine is %q with %v", m.Name, m.Features())
	}
	t.Setenv(cpu.Variable, "-"+m.Features()[0])
	if less, err := cpu.This(); err != nil || less.Has(m.Features()[0]) {
		t.Errorf("the variable does not take %s away (%v)", m.Features()[0], err)
	}
	t.Setenv(cpu.Variable, "-warp-drive")
	if _, err := cpu.This(); err == nil || !strings.Contains(err.Error(), `LATHE_CPU: "-warp-drive"`) {
		t.Errorf("an unknown feature: %v", err)
	}
}
