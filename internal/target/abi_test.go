package target

import (
	"slices"
	"strings"
	"testing"
)

// Options behind a preset's name replace its own, but features add up: those that a board lacks stay away.
func TestPresetWithFeatures(t *testing.T) {
	for text, want := range map[string]string{
		"raspberry-pi-4 -mattr=+fullfp16":   "+fullfp16",
		"wasm32 -mattr=+relaxed-simd":       "+simd128,+relaxed-simd",
		"wasm32 -num-cores=2":               "+simd128",
		"wasm32 -mcpu=lime1":                "+simd128",
		"llvm -mtriple=arm-linux-gnueabihf": "",
		"llvm -mtriple=arm-unknown-eabihf":  "",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := s.Resolve(noHost)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want != "" && !slices.Equal(got.Attrs, strings.Split(want, ",")) {
			t.Errorf("%s: attributes %q, want %q", text, got.Attrs, want)
		}
		if got.Arch == ARM && !strings.HasPrefix(got.Triple, "armv7-") {
			t.Errorf("%s: triple %s", text, got.Triple)
		}
	}
}

// Code whose floating-point numbers are not in registers is not made.
func TestFloatABI(t *testing.T) {
	for text, want := range map[string]string{
		"llvm -mtriple=armv7-linux-gnueabi":                              "write armv7-linux-gnueabihf",
		"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=-sse2":       "registers of SSE2",
		"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+soft-float": "registers of SSE2",
	} {
		s, err := Parse(text)
		if err == nil {
			_, err = s.Resolve(noHost)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
