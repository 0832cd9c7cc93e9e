package verify

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/crosstest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
)

// crossTargets are the targets whose code runs under qemu-user in tests: with and without what LLVM selects apart.
var crossTargets = []string{
	"llvm -mtriple=aarch64-linux-gnu",
	"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
	"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1",
	"llvm -mtriple=armv7-linux-gnueabihf",
	"llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a15",
	"llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a8",
	"llvm -mtriple=riscv64-linux-gnu",
	"llvm -mtriple=riscv64-linux-gnu -mattr=+v",
	"llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b,+zba,+zbb,+zbs",
}

// emulated returns what runs modules for o's target under qemu-user. The test is skipped unless LATHE_DEPLOY is set, as in
// 'make deploytest'.
func emulated(t *testing.T, o compile.Options) execute {
	t.Helper()
	if os.Getenv("LATHE_DEPLOY") == "" {
		t.Skip("takes minutes: 'make deploytest' runs it")
	}
	p, err := crosstest.Build(o.Target.ISA(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := p.On(o.Target, t.TempDir())
	t.Cleanup(func() { r.Close() })
	return func(res *compile.Result, in []*tensor.Tensor, workers int) ([]*tensor.Tensor, error) {
		res.Contents.Manifest.MaxWorkers = 0
		out, err := r.Run(&res.Contents, in, workers)
		if errors.Is(err, crosstest.ErrEmulator) {
			t.Logf("%v: not compared", err)
			return nil, errNotCompared
		}
		return out, err
	}
}

// errNotCompared is no fault of the code.
var errNotCompared = errors.New("the emulator failed")

// TestDeployCrossLoops is TestLoops for other architectures.
func TestDeployCrossLoops(t *testing.T) {
	for _, tgt := range crossTargets {
		t.Run(strings.ReplaceAll(tgt, " ", ""), func(t *testing.T) {
			o := compile.Options{Target: targettest.Resolve(t, tgt), Level: 3, Workers: 2}
			run := emulated(t, o)
			for seed := range uint64(12) {
				r := rand.New(rand.NewPCG(seed, 64))
				g := graphtest.Loops(r)
				text, in := g.String(), graphtest.Inputs(r, g)
				res, want := withReference(t, g, in, o)
				for _, workers := range []int{1, 3} {
					got, err := run(res, in, workers)
					if errors.Is(err, errNotCompared) {
						continue
					} else if err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, text)
					}
					for i := range want {
						if diff, err := difference(want[i], got[i]); err != nil || !(diff <= networkTolerance) {
							t.Errorf("seed %d: output %d differs by %g: %v\n%s", seed, i, diff, err, text)
						}
					}
				}
			}
		})
	}
}

// TestDeployCrossOperators is TestOperators for other architectures.
func TestDeployCrossOperators(t *testing.T) {
	const samples = 3
	for _, tgt := range crossTargets {
		t.Run(strings.ReplaceAll(tgt, " ", ""), func(t *testing.T) {
			o := compile.Options{Target: targettest.Resolve(t, tgt), Level: 3, Workers: 2}
			run := emulated(t, o)
			for _, d := range ops.All {
				if d.Sample == nil {
					continue
				}
				t.Run(d.Name, func(t *testing.T) {
					for seed := range uint64(samples) {
						r := rand.New(rand.NewPCG(seed, 7))
						attrs, in := d.Sample(r)
						testOperator(t, r, d, attrs, in, o, seed, run)
					}
				})
			}
		})
	}
}
