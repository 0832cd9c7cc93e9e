package machine

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"lathe/internal/target"
	"lathe/internal/testkit/targettest"
	"lathe/internal/toolchain"
)

// TestMeasure checks what holds on any machine, busy or not: wider vectors are not much slower, and each loop of this
// machine gives a speed.
func TestMeasure(t *testing.T) {
	p, err := Open(t.Context())
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
		"x86-64":    {"fma128", "read1", "read2", "read4", "read8", "chain", "count"},
		"haswell":   {"fma128", "fma256", "read1", "read2", "read4", "read8", "chain", "count"},
		"alderlake": {"fma128", "fma256", "dot256", "read1", "read2", "read4", "read8", "chain", "count"},
		"znver5":    {"fma128", "fma256", "fma512", "dot512", "read1", "read2", "read4", "read8", "chain", "count"},
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

// TestMatricesCompile: so does the loop over registers of matrices.
func TestMatricesCompile(t *testing.T) {
	xeon := targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
	m, err := toolchain.Open(toolchain.Options{Triple: "x86_64-linux-gnu", CPU: "sapphirerapids"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Compile(matrices(xeon).text(), ""); err != nil {
		t.Error(err)
	}
}

// TestOwn: what a core has to itself is measured without what cores share, at a glance too.
func TestOwn(t *testing.T) {
	p, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, measure := range []func() target.Core{p.Glance, p.Own} {
		from := time.Now()
		c := measure()
		t.Logf("%+v in %v", c, time.Since(from))
		if c.Clock < 200 || c.Units < 1 || c.Latency < 1 || c.Loads < 1 || c.L2Rate < 1 || c.L3Rate != 0 || c.Memory != 0 || c.Reclaim != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// TestCore: every number of this machine's core is one that a target may have, and each is a class of its own.
func TestCore(t *testing.T) {
	p, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := p.Core()
	t.Logf("%+v", c)
	if c.Clock < 200 || c.Clock > 20_000 {
		t.Errorf("clock %d MHz", c.Clock)
	}
	if c.Datapath < 64 || c.Units < 1 || c.Units > 8 || c.Latency < 1 || c.Latency > 30 || c.Loads < 1 || c.L2Rate < 1 || c.Memory < 100 {
		t.Errorf("%+v", c)
	}
	if several := runtime.GOMAXPROCS(0) > 1; several != (c.Reclaim > 0) || c.Reclaim > 1_000_000 {
		t.Errorf("a core writes %d MB/s of what others have read; several cores: %v", c.Reclaim, several)
	}
}

func TestDatapath(t *testing.T) {
	for _, c := range []struct {
		fused        map[int]float64
		ticks        float64
		width, units int
	}{
		{map[int]float64{128: 7.9, 256: 7.9, 512: 7.8}, 4, 512, 2},
		{map[int]float64{128: 7.9, 256: 7.9, 512: 3.9}, 4, 256, 2},
		{map[int]float64{128: 6, 256: 5.9}, 3, 256, 2},
		{map[int]float64{128: 6, 256: 3}, 3, 128, 2},
		{map[int]float64{128: 1.4}, 1.5, 128, 1},
		{map[int]float64{128: 12, 256: 6}, 3, 128, 4},
	} {
		if width, units := datapath(c.fused, c.ticks); width != c.width || units != c.units {
			t.Errorf("%v at %v GHz: %d units of %d bits, want %d of %d", c.fused, c.ticks, units, width, c.units, c.width)
		}
	}
}

func TestRounding(t *testing.T) {
	for x, want := range map[float64]int{0: 0, 0.5: 0, 3.4: 3, 11.2: 11, 2975: 3000, 14649: 15000, 99.7: 100} {
		if got := significant(x); got != want {
			t.Errorf("significant(%v) = %d, want %d", x, got, want)
		}
	}
	for x, want := range map[float64]int{0: 0, 5: 5, 7.6: 8, 9.3: 10, 31: 32, 33: 32, 37: 40, 61: 64} {
		if got := class(x); got != want {
			t.Errorf("class(%v) = %d, want %d", x, got, want)
		}
	}
}
