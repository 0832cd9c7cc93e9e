package tensor

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestBytes: zeros of every size around those of huge pages, and many of them where the kernel may use these.
func TestBytes(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages to give")
	}
	for _, n := range []int{0, 1, hugePage, 2*hugePage - 1, 2 * hugePage, 2*hugePage + 1, 5*hugePage + 12345} {
		b := Bytes(n)
		if len(b) != n {
			t.Fatalf("%d bytes instead of %d", len(b), n)
		}
		for i, v := range b {
			if v != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, v)
			}
		}
		if n < 2*hugePage {
			continue
		}
		if flags := flagsAt(t, uintptr(unsafe.Pointer(&b[n/2]))); !strings.Contains(flags, " hg") {
			t.Errorf("%d bytes: the kernel has the flags%s for them", n, flags)
		}
	}
}

// flagsAt are the kernel's flags of the mapping that holds an address.
func flagsAt(t *testing.T, address uintptr) string {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= address && address < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return flags
		}
	}
	t.Fatalf("/proc/self/smaps has no flags at %#x", address)
	return ""
}
