package compile

import (
	"strings"
	"testing"

	"lathe/internal/testkit/targettest"
)

// TestDenormalsOfTarget: each target has its default, and what it cannot do is refused.
func TestDenormalsOfTarget(t *testing.T) {
	for target, want := range map[string][2]string{ // default, refused
		"llvm -mtriple=x86_64-linux-gnu": {"flush", ""}, "llvm -mtriple=aarch64-linux-gnu": {"flush", ""},
		"llvm -mtriple=armv7-linux-gnueabihf": {"flush", "keep"}, "llvm -mtriple=riscv64-linux-gnu": {"keep", "flush"},
		"c": {"keep", "flush"}, "wasm32": {"keep", "flush"},
	} {
		for _, mode := range DenormalModes {
			o := Options{Target: targettest.Resolve(t, target), Denormals: Denormals(mode)}
			if err := o.resolveDenormals(); (err != nil) != (mode == want[1]) {
				t.Errorf("%s, %s: %v", target, mode, err)
			}
		}
		o := Options{Target: targettest.Resolve(t, target)}
		if err := o.resolveDenormals(); err != nil || string(o.Denormals) != want[0] {
			t.Errorf("%s: %s, %v", target, o.Denormals, err)
		}
	}
	o := Options{Target: targettest.Resolve(t, "llvm"), Denormals: "maybe"}
	if err := o.resolveDenormals(); err == nil || !strings.Contains(err.Error(), "choose from flush, keep") {
		t.Error(err)
	}
}
