package compile

import (
	"bytes"
	"context"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/target"
	"lathe/internal/testkit/targettest"
)

// TestResolvedTarget: what "llvm" stands for here gives the same library where "llvm" stands for something else.
func TestResolvedTarget(t *testing.T) {
	library := func(tgt *target.Target) []byte {
		res, err := Compile(context.Background(), digits(t), Options{Target: tgt, Level: 3, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return res.Contents.Library
	}
	here := targettest.Resolve(t, "llvm")
	want := library(here)
	if len(here.Features) > 0 {
		t.Setenv(cpu.Variable, "-"+here.Features[0])
		if other := targettest.Resolve(t, "llvm"); other.Has(here.Features[0]) || other.String() == here.String() {
			t.Errorf("with %s less this machine is still %s", here.Features[0], other)
		}
	}
	if !bytes.Equal(library(targettest.Resolve(t, here.String())), want) {
		t.Errorf("%s gives another library on another machine", here)
	}
}
