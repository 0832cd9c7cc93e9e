package lathe

import (
	"strings"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/isa/x86"
)

// What this machine cannot run is refused before it is compiled.
func TestVerifyElsewhere(t *testing.T) {
	here, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	less := map[string]string{"c": "is source"}
	for arch, text := range map[string]string{"x86_64": "llvm -mtriple=x86_64-linux-gnu", "aarch64": "raspberry-pi-4", "wasm32": "wasm32"} {
		less[text] = "the target is " + arch + ": leave --target out"
		if arch == string(here.Arch) {
			less[text] = ""
		}
	}
	for text, want := range less {
		tgt, err := resolveTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := runsHere(tgt); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if here.Table != &x86.Features || !here.Has("popcnt") {
		return
	}
	t.Setenv(cpu.Variable, "-popcnt")
	tgt, err := resolveTarget("x86-64-v2")
	if err != nil {
		t.Fatal(err)
	}
	if err := runsHere(tgt); err == nil || !strings.Contains(err.Error(), "CPU features popcnt, which this one (") || !strings.Contains(err.Error(), "LATHE_CPU=-popcnt") {
		t.Errorf("a masked feature: %v", err)
	}
}
