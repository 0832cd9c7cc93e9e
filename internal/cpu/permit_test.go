package cpu

import (
	"strings"
	"testing"
)

// TestPermit: a process gets the registers that its machine has, and is told where it does not; what needs none asks for nothing.
func TestPermit(t *testing.T) {
	m, err := This()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Permit([]string{"avx2", "fma", "neon"}); err != nil {
		t.Error(err)
	}
	if m.OnRequest == 0 {
		return
	}
	err = m.Permit([]string{"amx-int8", "amx-tile"})
	switch has := m.Has("amx-tile"); {
	case has && err != nil:
		t.Errorf("the machine has them: %v", err)
	case !has && (err == nil || !strings.Contains(err.Error(), "does not give to this process") || !strings.Contains(err.Error(), "recompile with -mattr=-amx-tile in the target")):
		t.Errorf("the machine lacks them: %v", err)
	}
}
