package compile

import (
	"testing"

	"lathe/internal/testkit/targettest"
)

// TestClass: machines with nearly the same numbers are of one class, others are not.
func TestClass(t *testing.T) {
	const base = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"
	class := func(facts string) string { return classKey(targettest.Resolve(t, base+facts)) }
	own := class(" -caches=48,2048,32768 -clock=3500 -memory-rate=10000")
	for _, facts := range []string{" -caches=48,1800,30000 -clock=3600 -memory-rate=10000", " -caches=48,2048,32768 -clock=3500 -memory-rate=3000"} {
		if got := class(facts); got != own {
			t.Errorf("%s: %s, want %s", facts, got, own)
		}
	}
	for _, facts := range []string{" -caches=48,512,32768 -clock=3500", " -caches=48,2048,32768 -clock=2000"} {
		if got := class(facts); got == own {
			t.Errorf("%s: %s is the class of another machine", facts, got)
		}
	}
}
