package target

import "testing"

func TestSpeed(t *testing.T) {
	for _, c := range []struct {
		target               string
		float32, int8, tiles float64
	}{
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=znver5", 262.4, 1049.6, 0},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2", 105.6, 105.6, 0}, // like haswell
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", 25.6, 25.6, 0},      // no multiply-add
		{"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76", 35.2, 140.8, 0},
		{"llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids", 192, 768, 6144},
	} {
		spec, err := Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		r, err := spec.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		s := r.Speed()
		if !near(s.Float32, c.float32) || !near(s.Int8, c.int8) || !near(s.Tiles, c.tiles) {
			t.Errorf("%s: %.1f, %.1f and %.1f operations per ns, want %.1f, %.1f and %.1f", c.target, s.Float32, s.Int8, s.Tiles, c.float32, c.int8, c.tiles)
		}
		if s.L2 < s.L3 || s.L3 < s.Memory || s.Memory <= 0 {
			t.Errorf("%s: a cache further away is faster: %+v", c.target, s)
		}
	}
}

func near(a, b float64) bool { return a > b-0.01 && a < b+0.01 }
