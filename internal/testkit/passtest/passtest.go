// Package passtest runs passes in tests of algorithms.
package passtest

import (
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/pass"
	"lathe/internal/target"
)

// Machine is what Run compiles for.
var Machine = &target.Target{Kind: "llvm", Arch: target.X86, VectorBits: 256, VectorRegs: 16, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 256)}

// Run runs the named passes of the table on g.
func Run(t testing.TB, g *graph.Graph, names ...string) {
	t.Helper()
	for _, p := range pass.Table {
		if !slices.Contains(names, p.Name) {
			continue
		}
		c := &pass.Context{Graph: g, Target: Machine, Level: 3}
		if err := p.Run(c); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if err := pass.Verify(c); err != nil {
			t.Fatalf("after %s: %v\n%s", p.Name, err, g)
		}
	}
}
